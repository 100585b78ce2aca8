import type { Command } from 'commander';
import { authenticationError, usageError } from '../../cli-error.ts';
import { writeConfig } from '../../config/config-file.ts';
import { API_KEY_PATTERN, isBaseUrl, maskKey } from '../../config/rules.ts';
import type { Settings } from '../../config/settings.ts';
import type { Account, Context } from '../../context.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { ask, askSecret, readFirstLine } from '../../output/prompt.ts';
import type { Perform } from '../perform.ts';
import { checkKey } from './check-key.ts';

export function declareAuthLogin(auth: Command, perform: Perform): void {
  auth
    .command('login')
    .description(
      'Store an API key in the config file, after checking it with the server. It is asked for without echo, or read from standard input.',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink auth login --base-url https://sho.rt
  $ shortlink auth login --profile staging < key.txt`,
    )
    .action((_options: object, command: Command) => perform(command, login));
}

async function login(context: Context): Promise<ExitCode> {
  const settings = await context.settings(true);
  const account = await context.interruptible((signal) => askAccount(settings, context, signal));
  context.printer.hide(account.apiKey);
  if ((await context.interruptible((signal) => checkKey(account, context, signal))) === 'refused') {
    throw authenticationError(
      `${account.baseUrl} refused the API key; nothing was stored.`,
      'Check that the whole key was given, and that it is of this server.',
    );
  }
  const config = await context.config();
  const profile = settings.profile.value;
  await writeConfig(context.configPath, {
    ...config,
    profiles: {
      ...config.profiles,
      [profile]: { base_url: account.baseUrl, api_key: account.apiKey },
    },
  });
  context.printer.note(
    `The key ${maskKey(account.apiKey)} works with ${account.baseUrl}. Stored as profile ${profile} in ${context.configPath}.`,
  );
  if ((context.io.env['SHORTLINK_API_KEY'] ?? '') !== '') {
    context.printer.warn('SHORTLINK_API_KEY is set and wins over the stored key.');
  }
  return EXIT_CODES.ok;
}

/** A key in the environment is not taken: who logs in wants to store another one. */
async function askAccount(
  settings: Settings,
  context: Context,
  signal: AbortSignal,
): Promise<Account> {
  const { io, globals } = context;
  const interactive = io.stdin.isTTY === true;
  let baseUrl = settings.baseUrl?.value;
  if (baseUrl === undefined) {
    if (!interactive) {
      throw usageError('No server is set.', 'Pass --base-url URL or set SHORTLINK_BASE_URL.');
    }
    baseUrl = (await ask('Base URL of the service: ', io, signal)).trim();
    if (!isBaseUrl(baseUrl)) {
      throw usageError('That is not an absolute http: or https: URL, such as https://sho.rt.');
    }
  }
  const given =
    globals.apiKey ??
    (interactive ? await askSecret('API key: ', io, signal) : await readFirstLine(io.stdin));
  const apiKey = given.trim();
  if (!API_KEY_PATTERN.test(apiKey)) {
    throw usageError(
      apiKey === ''
        ? 'No API key was given.'
        : 'The API key must be printable ASCII without spaces.',
    );
  }
  return { baseUrl, apiKey };
}
