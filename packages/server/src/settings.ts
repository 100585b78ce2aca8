import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { TargetHosts } from './domain/targets.ts';
import {
  type DatabaseSetting,
  isLogLevel,
  LOG_LEVELS,
  type LogLevel,
  parseDatabase,
  parseHosts,
  parseOrigin,
  parseToken,
  parseWebUrl,
  parseWhole,
  withoutSecrets,
} from './setting-values.ts';

export interface Settings {
  database: DatabaseSetting;
  /** Connections to PostgreSQL at most, of this process. @default 15 */
  databaseConnections: number;
  /** Address to listen on. @default '127.0.0.1' */
  host: string;
  /** `0` picks a free one. @default 8787 */
  port: number;
  /** Origin of the default short domain. @default the address the server listens on */
  publicUrl: string | undefined;
  /** Where the path `/` redirects to. @default a page of the service */
  rootUrl: string | undefined;
  /** Where unknown short links redirect to. @default the response is 404 */
  notFoundUrl: string | undefined;
  /** @default 'info' */
  logLevel: LogLevel;
  /** Hosts that new links may lead to, with their subdomains; empty allows every host. @default [] */
  targetAllow: TargetHosts['allow'];
  /** Hosts that new links may not lead to, with their subdomains. @default [] */
  targetDeny: TargetHosts['deny'];
  /** How long `/readyz` responds with 503 before the server stops listening, in milliseconds. @default 0 */
  drainDelayMs: number;
  /** File in which links in memory are kept over a restart. @default they are not kept */
  linkCache: string | undefined;
  /** Bearer token that `/metrics` asks for. @default it responds to direct connections from the same machine only */
  metricsToken: string | undefined;
  /** What `/internal/tls-check` asks for. @default it responds to direct connections from the same machine only */
  tlsAskToken: string | undefined;
}

/** Settings as text, by name; `undefined` where nothing was given. */
export type RawSettings = { [K in keyof Settings]?: string | undefined };

/** A setting that stops the program. Its message is one line: the setting, its value, what is accepted. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Longest wait before a stop, in milliseconds: service managers kill a process that takes much longer. */
const MAX_DRAIN_DELAY_MS = 60_000;

/** One that reads and one that writes; more than anybody's PostgreSQL takes. */
const MIN_CONNECTIONS = 2;
const MAX_CONNECTIONS = 1_000;

const TARGET_HOSTS = 'hosts without scheme or port, such as example.com, separated by commas';
const TOKEN = 'a token of 16 or more of A-Z a-z 0-9 - . _ ~ + /';

/** One setting: its flag, its variable, its default, and what makes a value of its text. */
interface Declaration<T> {
  option: Option;
  /** `undefined` when the text can't be used. */
  parse: (text: string) => { value: T } | undefined;
  /** What is accepted, for the message about any other text. */
  accepts: string;
  /** The text as it may be shown. @default as it is */
  shown?: (text: string) => string;
}

function setting<T>(
  flags: string,
  variable: string,
  description: string,
  { fallback, ...rest }: Omit<Declaration<T>, 'option'> & { fallback?: string },
): Declaration<T> {
  return { option: new Option(flags, description).env(variable).default(fallback), ...rest };
}

/** Every setting, in the order of the help. Those that hold secrets have no flag: a command line can be read by other users. */
export const SETTINGS = {
  database: setting(
    '--database <url>',
    'SHORTLINK_DATABASE_URL',
    'where everything is stored: sqlite:<path> or postgres://<user>:<password>@<host>/<name>',
    {
      fallback: 'sqlite:./shortlink.db',
      parse: parseDatabase,
      accepts: 'sqlite:<path>, sqlite::memory: or postgres://user:password@host/database',
      shown: withoutSecrets,
    },
  ),
  databaseConnections: setting(
    '--database-connections <n>',
    'SHORTLINK_DATABASE_CONNECTIONS',
    'connections to PostgreSQL at most, of this process',
    {
      fallback: '15',
      parse: (text) => parseWhole(text, MAX_CONNECTIONS, MIN_CONNECTIONS),
      accepts: `a number from ${MIN_CONNECTIONS} to ${MAX_CONNECTIONS}`,
    },
  ),
  host: setting('--host <host>', 'SHORTLINK_HOST', 'address to listen on', {
    fallback: '127.0.0.1',
    parse: (text) => (/^[\w.:-]+$/.test(text) ? { value: text } : undefined),
    accepts: 'a host name or an IP address',
  }),
  port: setting('--port <port>', 'SHORTLINK_PORT', 'port to listen on; 0 picks a free one', {
    fallback: '8787',
    parse: (text) => parseWhole(text, 65_535),
    accepts: 'a port from 0 to 65535',
  }),
  publicUrl: setting(
    '--public-url <url>',
    'SHORTLINK_PUBLIC_URL',
    'origin of short URLs, such as https://sho.rt (default: the address it listens on)',
    {
      parse: parseOrigin,
      accepts: 'an http or https address without path, such as https://sho.rt',
    },
  ),
  rootUrl: setting(
    '--root-url <url>',
    'SHORTLINK_ROOT_URL',
    'where / redirects to (default: a page that names the service)',
    {
      parse: parseWebUrl,
      accepts: 'an http or https address, such as https://www.example.com/',
    },
  ),
  notFoundUrl: setting(
    '--not-found-url <url>',
    'SHORTLINK_NOT_FOUND_URL',
    'where unknown short links redirect to (default: they are answered with 404)',
    {
      parse: parseWebUrl,
      accepts: 'an http or https address, such as https://www.example.com/gone',
    },
  ),
  targetAllow: setting(
    '--target-allow <hosts>',
    'SHORTLINK_TARGET_ALLOW',
    'the only hosts that new links may lead to, with their subdomains, separated by commas (default: every host)',
    {
      parse: parseHosts,
      accepts: TARGET_HOSTS,
    },
  ),
  targetDeny: setting(
    '--target-deny <hosts>',
    'SHORTLINK_TARGET_DENY',
    'hosts that new links may not lead to (default: none)',
    {
      parse: parseHosts,
      accepts: TARGET_HOSTS,
    },
  ),
  drainDelayMs: setting(
    '--drain-delay-ms <ms>',
    'SHORTLINK_DRAIN_DELAY_MS',
    'how long /readyz answers 503 before the port closes, up to 60000',
    {
      fallback: '0',
      parse: (text) => parseWhole(text, MAX_DRAIN_DELAY_MS),
      accepts: `milliseconds from 0 to ${MAX_DRAIN_DELAY_MS}`,
    },
  ),
  linkCache: setting(
    '--link-cache <path>',
    'SHORTLINK_LINK_CACHE',
    'file that keeps the links in memory over a restart, for an outage of the database (default: none)',
    { parse: (text) => ({ value: text || undefined }), accepts: 'a path' },
  ),
  logLevel: setting(
    '--log-level <level>',
    'SHORTLINK_LOG_LEVEL',
    'how much is logged; debug adds redirects and probes',
    {
      fallback: 'info',
      parse: (text) => (isLogLevel(text) ? { value: text } : undefined),
      accepts: `one of ${LOG_LEVELS.join(', ')}`,
    },
  ),
  metricsToken: setting(
    '--metrics-token',
    'SHORTLINK_METRICS_TOKEN',
    'bearer token that /metrics asks for (default: it answers this machine only)',
    {
      parse: parseToken,
      accepts: TOKEN,
      shown: () => '***',
    },
  ),
  tlsAskToken: setting(
    '--tls-ask-token',
    'SHORTLINK_TLS_ASK_TOKEN',
    'token that /internal/tls-check asks for (default: it answers this machine only)',
    {
      parse: parseToken,
      accepts: TOKEN,
      shown: () => '***',
    },
  ),
} as const satisfies { [K in keyof Settings]: Declaration<Settings[K]> };

/** Settings that have no flag. */
export const WITHOUT_FLAG: readonly (keyof Settings)[] = ['metricsToken', 'tlsAskToken'];

/** The flags of a command: of every setting that has one, or of these. */
export function settingOptions(names: readonly string[] = Object.keys(SETTINGS)): Option[] {
  return Object.entries(SETTINGS)
    .filter(([name]) => names.includes(name) && !WITHOUT_FLAG.some((secret) => secret === name))
    .map(([, { option }]) => option);
}

/** What the command line says of settings. Variables are left to {@link readSettings}, which knows about files. */
export function flagsOf(command: Command): RawSettings {
  const given = Object.entries(command.opts<RawSettings>());
  return Object.fromEntries(given.filter(([name]) => command.getOptionValueSource(name) === 'cli'));
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Settings from flags, then the environment, then the defaults. `<VARIABLE>_FILE` names a file that holds the value. An empty
 * variable counts as not set.
 *
 * @throws ConfigError for the first value that can't be used
 */
export function readSettings(flags: RawSettings, env: Env): Settings {
  const read = <T>({ option, parse, accepts, shown }: Declaration<T>): T => {
    const { name, text } = given(option, flags, env);
    const parsed = parse(text);
    if (parsed !== undefined) return parsed.value;
    const value = JSON.stringify(shown === undefined ? text : shown(text));
    throw new ConfigError(`${name} is ${value}; expected ${accepts}`);
  };
  const values = Object.entries(SETTINGS).map(([name, setting]) => [name, read<unknown>(setting)]);
  // The type of the table says that each setting has the value of its name.
  return Object.fromEntries(values) as Settings;
}

/** The text of a setting, and what a person knows it by. */
function given(option: Option, flags: RawSettings, env: Env): { name: string; text: string } {
  const raw: Readonly<Record<string, string | undefined>> = flags;
  const flag = raw[option.attributeName()];
  if (flag !== undefined) return { name: option.long ?? option.name(), text: flag };
  const variable = option.envVar ?? '';
  const fileVariable = `${variable}_FILE`;
  const [text, file] = [env[variable], env[fileVariable]];
  if (!file) return { name: variable, text: text || String(option.defaultValue ?? '') };
  if (text) throw new ConfigError(`${variable} and ${fileVariable} are both set; expected one`);
  try {
    return { name: fileVariable, text: readFileSync(file, 'utf8').replace(/\r?\n$/, '') };
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new ConfigError(
      `${fileVariable} is ${JSON.stringify(file)}; expected a file that can be read${reason}`,
    );
  }
}

/** Origin of short URLs: the setting, or the address that the server listens on. */
export function publicUrlOf({
  publicUrl,
  host,
  port,
}: Pick<Settings, 'publicUrl' | 'host' | 'port'>): string {
  // A server that listens on every address is reached by name, not under the address that means "every".
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return publicUrl ?? httpOrigin(reachable, port);
}

/** `http://host:port` of an address, with the brackets IPv6 needs. */
export function httpOrigin(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
