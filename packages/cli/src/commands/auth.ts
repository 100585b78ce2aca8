import type { Command } from 'commander';
import { authenticationError, EXIT_CODES, type ExitCode, usageError } from '../cli-error.ts';
import { changeConfig } from '../config/config-file.ts';
import { API_KEY_PATTERN, isBaseUrl, maskKey, withoutApiPath } from '../config/settings.ts';
import type { Account, Context } from '../context.ts';
import { ask, readFirstLine } from '../output/prompt.ts';
import { declareCommand, type Perform } from './declare.ts';

export function declareAuth(program: Command, perform: Perform): void {
  const auth = declareCommand(program, perform, {
    name: 'auth',
    description: 'Store, check and remove an API key.',
    tries: ['shortlink auth login', 'shortlink auth status'],
  });
  declareCommand(auth, perform, {
    name: 'login',
    description:
      'Store an API key in the config file, once the server has accepted it. The key is asked for without echo, or read from standard input.',
    tries: [
      'shortlink auth login --base-url https://sho.rt',
      'shortlink auth login --profile staging < key.txt',
    ],
    act: login,
  });
  declareCommand(auth, perform, {
    name: 'logout',
    description: 'Remove the stored API key of a profile. Its base URL stays.',
    tries: ['shortlink auth logout', 'shortlink auth logout --profile staging'],
    act: logout,
  });
  declareCommand(auth, perform, {
    name: 'status',
    description:
      'Show which API key is used, where it comes from, and whether the server accepts it.',
    tries: ['shortlink auth status', 'shortlink auth status --profile staging --json'],
    act: showStatus,
  });
}

async function login(context: Context): Promise<ExitCode> {
  const { printer, globals, io } = context;
  if (globals.baseUrl !== undefined) globals.baseUrl = withScheme(globals.baseUrl, context);
  const { profile: named, baseUrl } = await context.settings(true);
  const account = await context.interruptible((signal) =>
    askAccount(baseUrl?.value, context, signal),
  );
  if (!(await isAccepted(account, context))) {
    throw authenticationError(
      `${account.baseUrl} refused the API key, so nothing was stored.`,
      'Check that the key is complete, and that it belongs to this server.',
    );
  }
  const profile = named.value;
  await changeConfig(context, ({ profiles }) => {
    profiles[profile] = { base_url: account.baseUrl, api_key: account.apiKey };
  });
  const [key, flag] = [maskKey(account.apiKey), context.profileFlag];
  printer.ended('success', `Logged in to ${account.baseUrl} with the key ${key}`);
  printer.note(
    [
      `  Stored as profile ${profile} in ${context.configPath.replace(`${io.home}/`, '~/')}`,
      `  Try next: shortlink create https://example.com/docs${flag}`,
      `       and: shortlink import links.csv --dry-run${flag}`,
    ].join('\n'),
  );
  if ((io.env['SHORTLINK_API_KEY'] ?? '') !== '') {
    printer.warn('SHORTLINK_API_KEY is set, and is used instead of the stored key.');
  }
  return EXIT_CODES.ok;
}

/** An address as people type it, with its scheme. Only that of this machine gets `http:`: a key must not be sent over a network unencrypted. */
function withScheme(typed: string, { printer }: Context): string {
  const address = typed.trim();
  if (address === '' || isBaseUrl(address) || address.includes('://')) return address;
  const host = URL.parse(`http://${address}`)?.hostname ?? '';
  const isLocal = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);
  const corrected = `${isLocal ? 'http' : 'https'}://${address}`;
  if (!isBaseUrl(corrected)) return address;
  printer.note(`Using ${corrected} for ${address}.`);
  return corrected;
}

/** A key in the environment is not used: whoever logs in wants to store another one. */
async function askAccount(known: string | undefined, context: Context, signal: AbortSignal) {
  const { io, globals, printer } = context;
  const interactive = io.stdin.isTTY === true && globals.json !== true;
  let baseUrl = known;
  if (baseUrl === undefined && !interactive) {
    throw usageError('No server is set.', 'Pass --base-url URL or set SHORTLINK_BASE_URL.');
  }
  while (baseUrl === undefined) {
    const typed = await ask('Base URL of the service: ', io, signal);
    const address = withoutApiPath(withScheme(typed, context));
    if (isBaseUrl(address)) baseUrl = address;
    else printer.note('That is no address of a service. It looks like this: https://sho.rt');
  }
  if (io.stdin.isTTY === true && !interactive && globals.apiKey === undefined) {
    throw usageError(
      'With --json, nothing is asked for.',
      'Pipe the key in: shortlink auth login --json < key.txt',
    );
  }
  const given =
    globals.apiKey ??
    (interactive
      ? await ask('API key: ', io, signal, true)
      : await readFirstLine(io.stdin, signal));
  const apiKey = given.trim();
  if (!API_KEY_PATTERN.test(apiKey)) {
    const why = 'The API key must be printable ASCII without spaces.';
    throw usageError(apiKey === '' ? 'No API key was given.' : why);
  }
  return { baseUrl, apiKey };
}

async function logout(context: Context): Promise<ExitCode> {
  const { value: profile } = (await context.settings()).profile;
  const stored = (await context.config()).profiles[profile];
  if (stored?.api_key === undefined) {
    context.printer.note(`Profile ${profile} has no API key.`);
    return EXIT_CODES.ok;
  }
  await changeConfig(context, ({ profiles }) => delete profiles[profile]?.api_key);
  context.printer.ended('success', `Removed the API key of profile ${profile}`);
  context.printer.note(
    `  The config file is ${context.configPath}\n  The key stays valid on the server until it is revoked there.`,
  );
  return EXIT_CODES.ok;
}

async function showStatus(context: Context): Promise<ExitCode> {
  const account = await context.account();
  const settings = await context.settings();
  const valid = await isAccepted(account, context);
  const key = maskKey(account.apiKey);
  const source = settings.apiKey?.source;
  const profile = settings.profile.value;
  const { printer } = context;
  const word = valid ? printer.outStyle.green('valid') : printer.outStyle.red('refused');
  printer.result(
    { valid, base_url: account.baseUrl, profile, api_key: key, source },
    `${word}  key ${key} (${source}) at ${account.baseUrl}, profile ${profile}`,
  );
  return valid ? EXIT_CODES.ok : EXIT_CODES.authentication;
}

/**
 * Asks the server whether it accepts the key: by the usage, which costs no quota, or else by polling a job that can't exist, which is 404 for a
 * valid key and 401 otherwise. A key that may not do either is accepted too. Throws the client's errors when the server can't be asked, is a website, or
 * refuses any key in the same way, as it does at a wrong address.
 */
async function isAccepted(account: Account, context: Context): Promise<boolean> {
  const shortlink = await context.client(account);
  const { AuthenticationError, NotFoundError, PermissionError } = await import('@shortlink/sdk');
  return await context.interruptible(async (signal) => {
    try {
      await shortlink.usage.retrieve({ signal }).catch(async (error: unknown) => {
        if (!NotFoundError.isInstance(error)) throw error;
        await shortlink.jobs.retrieve(crypto.randomUUID(), { signal });
      });
      return true;
    } catch (error) {
      if (AuthenticationError.isInstance(error)) return false;
      // The page of a website has no error body.
      const isNoPage = NotFoundError.isInstance(error) && error.body !== undefined;
      const mayNot = PermissionError.isInstance(error) && error.code !== 'account_disabled';
      if (!isNoPage && !mayNot) throw error;
      const other = await context.client({ ...account, apiKey: crypto.randomUUID() });
      await other.jobs.retrieve(crypto.randomUUID(), { signal }).catch((reason: unknown) => {
        if (!AuthenticationError.isInstance(reason)) throw error;
      });
      return true;
    }
  });
}
