import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { TargetHosts } from './domain/targets.ts';
import type { DatabaseSetting, Kind, LogLevel } from './setting-values.ts';
import * as kinds from './setting-values.ts';

export interface Settings {
  database: DatabaseSetting;
  /** Connections to PostgreSQL at most, of this process. @default 15 */
  databaseConnections: number;
  /** Address to listen on. @default '127.0.0.1' */
  host: string;
  /** Processes that share the port. @default 1 */
  workers: number;
  /** `0` picks a free one. @default 8787 */
  port: number;
  /** Origin of the default short domain. @default the address the server listens on */
  publicUrl: string | undefined;
  /** Where the path `/` redirects to. @default a page of the service */
  rootUrl: string | undefined;
  /** Where browsers are sent from short links that are unknown or switched off; programs get 404 or 410. @default a page that says so */
  notFoundUrl: string | undefined;
  /** Whether the query of a short URL is added to that of its target. @default false */
  forwardQuery: boolean;
  /** Whether prefetches and the previews of chat programs are counted as clicks. @default false */
  countPreviews: boolean;
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

/** Its message is one line: the setting, its value, what is accepted. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** One setting: its flag, its variable and its default, and what makes a value of its text. */
type Setting<T> = Kind<T> & { option: Option };

type Described<T> = readonly [kind: Kind<T>, about: string, fallback?: string];

const TABLE: { [K in keyof Settings]: Described<Settings[K]> } = {
  database: [
    kinds.DATABASE,
    'where everything is stored: sqlite:<path> or postgres://<user>:<password>@<host>/<name>',
    'sqlite:./shortlink.db',
  ],
  databaseConnections: [
    // A process needs one connection to read and one to write. Nobody's PostgreSQL takes more than the upper bound.
    kinds.whole('a number', 2, 1_000),
    'connections to PostgreSQL at most, of this process',
    '15',
  ],
  host: [kinds.HOST, 'address to listen on', '127.0.0.1'],
  port: [
    kinds.whole('a port', 0, 65_535, '<port>'),
    'port to listen on; 0 picks a free one',
    '8787',
  ],
  workers: [kinds.WORKERS, 'processes that share the port; auto is one for each core', '1'],
  publicUrl: [
    kinds.ORIGIN,
    'origin of short URLs, such as https://sho.rt (default: the address it listens on)',
  ],
  rootUrl: [kinds.WEB_URL, 'where / redirects to (default: a page that names the service)'],
  notFoundUrl: [
    kinds.WEB_URL,
    'where browsers are sent from short links that are unknown or switched off (default: a page that says so)',
  ],
  forwardQuery: [
    kinds.BOOLEAN,
    'true adds the query of a short URL to that of its target, whose own parameters win',
    'false',
  ],
  countPreviews: [
    kinds.BOOLEAN,
    'true counts prefetches of browsers and previews of chat programs as clicks',
    'false',
  ],
  targetAllow: [
    kinds.HOSTS,
    'the only hosts that new links may lead to, with their subdomains, separated by commas (default: every host)',
  ],
  targetDeny: [kinds.HOSTS, 'hosts that new links may not lead to (default: none)'],
  drainDelayMs: [
    // Service managers kill a process that takes much longer.
    kinds.whole('milliseconds', 0, 60_000, '<ms>'),
    'how long /readyz answers 503 before the port closes, up to 60000',
    '0',
  ],
  linkCache: [
    kinds.PATH,
    'file that keeps the links in memory over a restart, for an outage of the database (default: none)',
  ],
  logLevel: [kinds.LOG_LEVEL, 'how much is logged; debug adds redirects and probes', 'info'],
  metricsToken: [
    kinds.TOKEN,
    'bearer token that /metrics asks for (default: it answers this machine only)',
  ],
  tlsAskToken: [
    kinds.TOKEN,
    'token that /internal/tls-check asks for (default: it answers this machine only)',
  ],
};

/** Flags and variables are named after their settings. Those that hold secrets have no flag: a command line can be read by other users. */
export const SETTINGS = Object.fromEntries(
  Object.entries<Described<unknown>>(TABLE).map(([name, [kind, about, fallback]]) => {
    const flag = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const option = new Option(`--${flag} ${kind.value ?? ''}`.trim(), about).default(fallback);
    const variable = `SHORTLINK_${flag.replaceAll('-', '_').toUpperCase()}`;
    option.env(name === 'database' ? `${variable}_URL` : variable);
    return [name, { ...kind, option }];
  }),
  // The type of the table says that each setting has the value of its name.
) as { [K in keyof Settings]: Setting<Settings[K]> };

export const OPTIONS: readonly Option[] = Object.values(SETTINGS).map(({ option }) => option);

export const FLAGS = OPTIONS.filter((option) => option.required);

/** The settings on a command line. Variables are left to {@link readSettings}, which knows about files. */
export function flagsOf(command: Command): RawSettings {
  // An option of a command may have the name of a setting, and be another one.
  const given = command.options
    .filter((option) => FLAGS.includes(option))
    .map((option) => option.attributeName())
    .filter((name) => command.getOptionValueSource(name) === 'cli');
  return Object.fromEntries(given.map((name) => [name, command.getOptionValue(name)]));
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Settings from flags, then the environment, then the defaults. `<VARIABLE>_FILE` names a file that holds the value. An empty
 * variable counts as not set.
 *
 * @throws ConfigError for the first value that can't be used
 */
export function readSettings(flags: RawSettings, env: Env): Settings {
  const read = ({ option, parse, accepts, none, shown }: Setting<unknown>) => {
    const { name, text } = given(option, flags, env);
    // A file that names a secret, and lost it, must not open what the secret protects.
    if (text === '' && option.defaultValue === undefined && !name.endsWith('_FILE')) return none;
    const value = parse(text);
    if (value !== undefined) return value;
    const rejected = JSON.stringify(shown === undefined ? text : shown(text));
    throw new ConfigError(`${name} is ${rejected}; expected ${accepts}`);
  };
  const values = Object.entries(SETTINGS).map(([name, setting]) => [name, read(setting)]);
  return Object.fromEntries(values) as Settings;
}

function given(option: Option, flags: Env, env: Env): { name: string; text: string } {
  const flag = flags[option.attributeName()];
  if (flag !== undefined) return { name: option.long ?? option.name(), text: flag };
  const variable = option.envVar ?? '';
  const fileVariable = `${variable}_FILE`;
  const [text, file] = [env[variable], env[fileVariable]];
  if (!file) return { name: variable, text: text || String(option.defaultValue ?? '') };
  if (text) throw new ConfigError(`${variable} and ${fileVariable} are both set; expected one`);
  return {
    name: fileVariable,
    text: readNamed(fileVariable, file).replace(/^\ufeff|[\r\n]+$/g, ''),
  };
}

/** @throws ConfigError for a file that can't be read, with what names it */
export function readNamed(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    throw new ConfigError(
      `${name} is ${JSON.stringify(file)}; expected a file that can be read${reason}`,
    );
  }
}

/** Origin of short URLs: the setting, or the address that the server listens on. */
export function publicUrlOf(settings: Pick<Settings, 'publicUrl' | 'host' | 'port'>): string {
  const { publicUrl, host, port } = settings;
  // A server that listens on every address is reached by name, not under the address that means "every".
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return publicUrl ?? httpOrigin(reachable, port);
}

/** `http://host:port` of an address, with the brackets IPv6 needs. */
export function httpOrigin(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
