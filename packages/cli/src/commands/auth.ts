import type { Command } from 'commander';
import { authenticationError, EXIT_CODES, type ExitCode, usageError } from '../cli-error.ts';
import { writeConfig } from '../config/config-file.ts';
import { API_KEY_PATTERN, isBaseUrl, maskKey, type Settings } from '../config/settings.ts';
import type { Account, Context } from '../context.ts';
import { ask, askSecret, readFirstLine } from '../output/prompt.ts';
import type { Perform } from './declare.ts';

export function declareAuth(program: Command, perform: Perform): void {
  const auth = program.command('auth').description('Store, check and remove an API key.');
  declareAuthLogin(auth, perform);
  declareAuthLogout(auth, perform);
  declareAuthStatus(auth, perform);
}

function declareAuthLogin(auth: Command, perform: Perform): void {
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

function declareAuthLogout(auth: Command, perform: Perform): void {
  auth
    .command('logout')
    .description('Remove the stored API key of a profile. Its base URL stays.')
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink auth logout
  $ shortlink auth logout --profile staging`,
    )
    .action((_options: object, command: Command) => perform(command, logout));
}

async function logout(context: Context): Promise<ExitCode> {
  const { profile } = await context.settings();
  const config = await context.config();
  const { api_key: stored, ...rest } = config.profiles[profile.value] ?? {};
  if (stored === undefined) {
    context.printer.note(`Profile ${profile.value} holds no API key.`);
    return EXIT_CODES.ok;
  }
  await writeConfig(context.configPath, {
    ...config,
    profiles: { ...config.profiles, [profile.value]: rest },
  });
  context.printer.note(
    `Removed the API key of profile ${profile.value} from ${context.configPath}. It stays valid on the server until it is revoked there.`,
  );
  return EXIT_CODES.ok;
}

function declareAuthStatus(auth: Command, perform: Perform): void {
  auth
    .command('status')
    .description(
      'Show which API key is used, where it comes from, and whether the server takes it.',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ shortlink auth status
  $ shortlink auth status --profile staging && shortlink import links.csv --profile staging`,
    )
    .action((_options: object, command: Command) => perform(command, showStatus));
}

async function showStatus(context: Context): Promise<ExitCode> {
  const account = await context.account();
  const settings = await context.settings();
  const valid =
    (await context.interruptible((signal) => checkKey(account, context, signal))) === 'valid';
  const key = maskKey(account.apiKey);
  const source = settings.apiKey?.source;
  const profile = settings.profile.value;
  const { printer } = context;
  if (context.globals.json === true) {
    printer.json({ valid, base_url: account.baseUrl, profile, api_key: key, source });
  } else {
    const paint = valid ? printer.outStyle.green : printer.outStyle.red;
    printer.data(
      `${paint(valid ? 'valid' : 'refused')}  key ${key} (${source}) at ${account.baseUrl}, profile ${profile}`,
    );
  }
  return valid ? EXIT_CODES.ok : EXIT_CODES.authentication;
}

/** What a key was found to be. A key that works but may not read usage is valid too. */
type KeyCheck = 'valid' | 'refused';

/**
 * Asks the server whether it knows the key, without changing anything there: usage first, which costs no quota; where
 * the service has no such endpoint, a poll of a job that can't exist, which is 404 for a valid key and 401 otherwise.
 *
 * @throws the client's errors when the server can't be asked
 */
async function checkKey(
  account: Account,
  context: Context,
  signal: AbortSignal,
): Promise<KeyCheck> {
  const [shortlink, { AuthenticationError, NotFoundError, PermissionError }] = await Promise.all([
    context.client(account),
    import('@shortlink/sdk'),
  ]);
  const ask = async (request: Promise<unknown>): Promise<KeyCheck | 'no such thing'> => {
    try {
      await request;
      return 'valid';
    } catch (error) {
      if (AuthenticationError.isInstance(error)) return 'refused';
      if (PermissionError.isInstance(error)) return 'valid';
      if (NotFoundError.isInstance(error)) return 'no such thing';
      throw error;
    }
  };
  const byUsage = await ask(shortlink.usage.retrieve({ signal }));
  if (byUsage !== 'no such thing') return byUsage;
  const byJob = await ask(shortlink.jobs.retrieve(crypto.randomUUID(), { signal }));
  return byJob === 'no such thing' ? 'valid' : byJob;
}
