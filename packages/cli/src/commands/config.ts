import { Argument, type Command } from 'commander';
import { CliError, EXIT_CODES, type ExitCode, usageError } from '../cli-error.ts';
import { changeConfig } from '../config/config-file.ts';
import type { Config } from '../config/config-schema.ts';
import { checkedBaseUrl, checkedProfile, isSameService, maskKey } from '../config/settings.ts';
import type { Context } from '../context.ts';
import { renderTable } from '../output/table.ts';
import { declareCommand, type Perform } from './declare.ts';

export function declareConfig(program: Command, perform: Perform): void {
  const config = declareCommand(program, perform, {
    name: 'config',
    description:
      'Read and change settings. A flag wins over an environment variable, and that over the config file.',
    tries: ['shortlink config list', 'shortlink config set base_url https://sho.rt'],
  });
  const name = () => new Argument('<name>', 'name of the setting').choices(SETTING_NAMES);
  declareCommand(config, perform, {
    name: 'get',
    description: 'Print the current value of a setting. An API key is masked.',
    tries: ['shortlink config get base_url', 'shortlink config get api_key --profile staging'],
    act: getSetting,
  }).addArgument(name());
  declareCommand(config, perform, {
    name: 'set',
    description:
      'Change a setting in the config file: base_url of a profile, or which profile is used by default. An API key is stored with: shortlink auth login',
    tries: [
      'shortlink config set base_url https://sho.rt',
      'shortlink config set base_url https://staging.sho.rt --profile staging',
      'shortlink config set profile staging',
    ],
    act: changeSetting,
  })
    .addArgument(name())
    .argument('<value>', 'its new value');
  declareCommand(config, perform, {
    name: 'list',
    description: 'Show the current settings, where each comes from, and the profiles.',
    tries: ['shortlink config list', 'shortlink config list --profile staging --json'],
    act: listSettings,
  });
}

async function getSetting(context: Context, name: SettingName): Promise<ExitCode> {
  const setting = (await shownSettings(context))[name];
  if (setting === undefined) {
    throw new CliError(`${name} is not set.`, { code: 'not_set', exitCode: EXIT_CODES.error });
  }
  context.printer.result({ name, ...setting }, setting.value);
  return EXIT_CODES.ok;
}

async function changeSetting(context: Context, name: SettingName, value: string) {
  if (name === 'api_key') {
    throw usageError(
      'An API key is not accepted on the command line, where ps and the shell history show it.',
      'Store it with: shortlink auth login',
    );
  }
  const { profile } = await context.settings(true);
  await changeConfig(context, (config) => {
    if (name === 'base_url') setBaseUrl(config, value, profile.value, context.profileFlag);
    else config.profile = checkedProfile(value, 'argument', config);
  });
  context.printer.ended('success', `Saved in ${context.configPath}`);
  return EXIT_CODES.ok;
}

function setBaseUrl(config: Config, value: string, profile: string, flag: string): void {
  const base_url = checkedBaseUrl(value, 'base_url');
  const stored = config.profiles[profile];
  const { api_key: key, base_url: address } = stored ?? {};
  if (key !== undefined && address !== undefined && !isSameService(address, base_url)) {
    throw usageError(
      `Profile ${profile} has an API key for ${address}, which is sent to no other address.`,
      `Store the address with its own key: shortlink auth login --base-url ${base_url}${flag}`,
    );
  }
  config.profiles[profile] = { ...stored, base_url };
}

async function listSettings(context: Context): Promise<ExitCode> {
  const config = await context.config();
  const shown = Object.entries(await shownSettings(context));
  const { printer, configPath: file } = context;
  const profiles = Object.entries(config.profiles).map(([name, { base_url = null, api_key }]) => {
    return [name, { base_url, api_key: api_key === undefined ? null : maskKey(api_key) }];
  });
  const table = await renderTable({
    head: ['setting', 'value', 'from'],
    rows: shown.map(([name, set]) => [name, set?.value ?? '', set?.source ?? 'not set']),
    style: printer.outStyle,
  });
  printer.result(
    {
      file,
      settings: Object.fromEntries(shown.map(([name, setting]) => [name, setting ?? null])),
      profiles: Object.fromEntries(profiles),
    },
    `${table}\nprofiles: ${Object.keys(config.profiles).join(', ') || 'none'}\nconfig file: ${file}`,
  );
  return EXIT_CODES.ok;
}

const SETTING_NAMES = ['base_url', 'api_key', 'profile'] as const;
type SettingName = (typeof SETTING_NAMES)[number];

async function shownSettings(context: Context) {
  const { baseUrl, apiKey, profile } = await context.settings();
  const masked = apiKey && { ...apiKey, value: maskKey(apiKey.value) };
  return { base_url: baseUrl, api_key: masked, profile };
}
