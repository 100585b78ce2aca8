import type { Command } from 'commander';
import { maskKey } from '../../config/rules.ts';
import type { Context } from '../../context.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { renderTable } from '../../output/table.ts';
import type { Perform } from '../perform.ts';
import { SETTING_NAMES, shownSetting } from './setting-names.ts';

export function declareConfigList(config: Command, perform: Perform): void {
  config
    .command('list')
    .description('Show the settings that hold now, where each came from, and the profiles.')
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink config list
  $ shortlink config list --profile staging --json`,
    )
    .action((_options: object, command: Command) => perform(command, listSettings));
}

async function listSettings(context: Context): Promise<ExitCode> {
  const settings = await context.settings();
  const config = await context.config();
  const shown = SETTING_NAMES.map((name) => ({ name, setting: shownSetting(settings, name) }));
  const { printer } = context;
  if (context.globals.json === true) {
    printer.json({
      file: context.configPath,
      settings: Object.fromEntries(shown.map(({ name, setting }) => [name, setting ?? null])),
      profiles: Object.fromEntries(
        Object.entries(config.profiles).map(([name, profile]) => [
          name,
          {
            base_url: profile.base_url ?? null,
            api_key: profile.api_key === undefined ? null : maskKey(profile.api_key),
          },
        ]),
      ),
    });
    return EXIT_CODES.ok;
  }
  printer.data(
    await renderTable({
      head: ['setting', 'value', 'from'],
      rows: shown.map(({ name, setting }) => [
        name,
        setting?.value ?? '',
        setting?.source ?? 'not set',
      ]),
      style: printer.outStyle,
    }),
  );
  const names = Object.keys(config.profiles);
  printer.data(`profiles: ${names.length > 0 ? names.join(', ') : 'none'}`);
  printer.data(`config file: ${context.configPath}`);
  return EXIT_CODES.ok;
}
