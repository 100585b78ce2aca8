import { Argument, type Command } from 'commander';
import { CliError } from '../../cli-error.ts';
import type { Context } from '../../context.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { Perform } from '../perform.ts';
import { SETTING_NAMES, type SettingName, shownSetting } from './setting-names.ts';

export function declareConfigGet(config: Command, perform: Perform): void {
  config
    .command('get')
    .description('Print the value of a setting that holds now. An API key is masked.')
    .addArgument(new Argument('<name>', 'name of the setting').choices(SETTING_NAMES))
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink config get base_url
  $ shortlink config get api_key --profile staging`,
    )
    .action((name: SettingName, _options: object, command: Command) =>
      perform(command, (context) => getSetting(name, context)),
    );
}

async function getSetting(name: SettingName, context: Context): Promise<ExitCode> {
  const setting = shownSetting(await context.settings(), name);
  if (setting === undefined) {
    throw new CliError(`${name} is not set.`, { code: 'not_set', exitCode: EXIT_CODES.error });
  }
  if (context.globals.json === true) {
    context.printer.json({ name, ...setting });
  } else {
    context.printer.data(setting.value);
  }
  return EXIT_CODES.ok;
}
