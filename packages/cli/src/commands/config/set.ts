import { Argument, type Command } from 'commander';
import { usageError } from '../../cli-error.ts';
import { writeConfig } from '../../config/config-file.ts';
import type { Config } from '../../config/config-schema.ts';
import { isBaseUrl, PROFILE_PATTERN } from '../../config/rules.ts';
import type { Context } from '../../context.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { Perform } from '../perform.ts';
import { SETTING_NAMES, type SettingName } from './setting-names.ts';

export function declareConfigSet(config: Command, perform: Perform): void {
  config
    .command('set')
    .description(
      'Change a setting in the config file: base_url of a profile, or which profile is used by default. An API key is stored by: shortlink auth login',
    )
    .addArgument(new Argument('<name>', 'name of the setting').choices(SETTING_NAMES))
    .argument('<value>', 'its new value')
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink config set base_url https://sho.rt
  $ shortlink config set base_url https://staging.sho.rt --profile staging
  $ shortlink config set profile staging`,
    )
    .action((name: SettingName, value: string, _options: object, command: Command) =>
      perform(command, (context) => changeSetting(name, value, context)),
    );
}

async function changeSetting(
  name: SettingName,
  value: string,
  context: Context,
): Promise<ExitCode> {
  const config = await context.config();
  await writeConfig(context.configPath, await changed(config, name, value, context));
  context.printer.note(`Saved in ${context.configPath}.`);
  return EXIT_CODES.ok;
}

async function changed(
  config: Config,
  name: SettingName,
  value: string,
  context: Context,
): Promise<Config> {
  switch (name) {
    case 'api_key':
      throw usageError(
        'An API key is not taken from the command line, where ps and the shell history show it.',
        'Run: shortlink auth login',
      );
    case 'profile':
      if (!PROFILE_PATTERN.test(value)) {
        throw usageError('A profile name may hold letters, digits and . _ - only.');
      }
      if (!Object.hasOwn(config.profiles, value)) {
        throw usageError(
          `There is no profile ${value}.`,
          `To make it: shortlink auth login --profile ${value}`,
        );
      }
      return { ...config, profile: value };
    case 'base_url': {
      if (!isBaseUrl(value)) {
        throw usageError(
          'base_url must be an absolute http: or https: URL without query or credentials, such as https://sho.rt.',
        );
      }
      const { profile } = await context.settings(true);
      const stored = config.profiles[profile.value];
      const profiles = {
        ...config.profiles,
        [profile.value]: { ...stored, base_url: value },
      };
      return { ...config, profiles };
    }
  }
}
