import { parseHostList, type TargetHosts } from './domain/target-hosts.ts';
import { isLogLevel, LOG_LEVELS, type LogLevel } from './logger.ts';

/** Settings as text, from flags or the environment; `undefined` where nothing was said. */
export interface RawSettings {
  database?: string | undefined;
  host?: string | undefined;
  port?: string | undefined;
  publicUrl?: string | undefined;
  logLevel?: string | undefined;
  targetAllow?: string | undefined;
  targetDeny?: string | undefined;
  drainDelayMs?: string | undefined;
  metricsToken?: string | undefined;
}

export interface Settings {
  database: DatabaseSetting;
  /** Address to listen on. @default '127.0.0.1' */
  host: string;
  /** `0` picks a free one. @default 8787 */
  port: number;
  /** Origin of the default short domain. @default the address the server listens on */
  publicUrl: string | undefined;
  /** @default 'info' */
  logLevel: LogLevel;
  /** Hosts that new links may lead to, with their subdomains; empty allows every host. @default [] */
  targetAllow: TargetHosts['allow'];
  /** Hosts that new links may not lead to, with their subdomains. @default [] */
  targetDeny: TargetHosts['deny'];
  /** How long `/readyz` answers 503 before the server stops listening, in milliseconds. @default 0 */
  drainDelayMs: number;
  /** Bearer token that `/metrics` asks for. @default it answers direct connections from the same machine only */
  metricsToken: string | undefined;
}

/** The database, by engine. */
export type DatabaseSetting =
  | {
      engine: 'sqlite';
      /** A file's path, or `:memory:`. */
      path: string;
    }
  | {
      engine: 'postgres';
      /** With user and password: never shown or logged. */
      url: string;
    };

export const DEFAULT_SETTINGS = Object.freeze({
  database: 'sqlite:./shortlink.db',
  host: '127.0.0.1',
  port: '8787',
  logLevel: 'info',
  drainDelayMs: '0',
});

/** A setting that stops the program. Its message is one line: the setting, its value, what is accepted. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Longest wait before a stop: service managers kill a process that takes much longer. */
const MAX_DRAIN_DELAY_MS = 60_000;

/** The flag and the variable of each setting, as a person knows them; the library's name where there is no flag. */
const NAMES = {
  database: ['--database', 'SHORTLINK_DATABASE_URL'],
  host: ['--host', 'SHORTLINK_HOST'],
  port: ['--port', 'SHORTLINK_PORT'],
  publicUrl: ['--public-url', 'SHORTLINK_PUBLIC_URL'],
  logLevel: ['--log-level', 'SHORTLINK_LOG_LEVEL'],
  targetAllow: ['targetAllow', 'SHORTLINK_TARGET_ALLOW'],
  targetDeny: ['targetDeny', 'SHORTLINK_TARGET_DENY'],
  drainDelayMs: ['drainDelayMs', 'SHORTLINK_DRAIN_DELAY_MS'],
  metricsToken: ['metricsToken', 'SHORTLINK_METRICS_TOKEN'],
} as const satisfies Record<keyof Settings, readonly [flag: string, variable: string]>;

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Settings from flags, then the environment, then the defaults. An empty variable counts as not set.
 *
 * @throws ConfigError for the first value that can't be used
 */
export function readSettings(flags: RawSettings, env: Env): Settings {
  return {
    database: read('database', parseDatabase, flags, env),
    host: read('host', parseHost, flags, env),
    port: read('port', parsePort, flags, env),
    publicUrl: read('publicUrl', parsePublicUrl, flags, env),
    logLevel: read('logLevel', parseLogLevel, flags, env),
    targetAllow: read('targetAllow', parseHosts, flags, env),
    targetDeny: read('targetDeny', parseHosts, flags, env),
    drainDelayMs: read('drainDelayMs', parseDrainDelay, flags, env),
    metricsToken: read('metricsToken', parseToken, flags, env),
  };
}

/** Where the text of a setting came from, for the message. */
interface Given {
  name: string;
  text: string;
}

function read<K extends keyof Settings, T>(
  key: K,
  parse: (given: Given) => T,
  flags: RawSettings,
  env: Env,
): T {
  const [flag, variable] = NAMES[key];
  const fromFlag = flags[key];
  if (fromFlag !== undefined) return parse({ name: flag, text: fromFlag });
  const defaults: RawSettings = DEFAULT_SETTINGS;
  return parse({ name: variable, text: env[variable] || (defaults[key] ?? '') });
}

function refuse({ name, text }: Given, accepted: string): ConfigError {
  return new ConfigError(`${name} is ${JSON.stringify(hideSecrets(text))}; expected ${accepted}`);
}

function parseDatabase(given: Given): DatabaseSetting {
  const { text } = given;
  const path = /^sqlite:(?:\/\/)?(.+)$/i.exec(text)?.[1];
  if (path !== undefined) return { engine: 'sqlite', path };
  const url = /^postgres(?:ql)?:\/\//i.test(text) ? URL.parse(text) : null;
  // More than a name in the path comes of an `@` or `/` in the password that should be percent-encoded.
  if (url === null || !/^\/[^/@]+$/.test(url.pathname)) {
    throw refuse(given, 'sqlite:<path>, sqlite::memory: or postgres://user:password@host/database');
  }
  return { engine: 'postgres', url: text };
}

function parseHost(given: Given): string {
  const { text } = given;
  if (!/^[\w.:-]+$/.test(text)) throw refuse(given, 'a host name or an IP address');
  return text;
}

function parsePort(given: Given): number {
  const { text } = given;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw refuse(given, 'a port from 0 to 65535');
  return port;
}

function parsePublicUrl(given: Given): string | undefined {
  if (given.text === '') return undefined;
  const url = URL.parse(given.text);
  const isOrigin =
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.href === `${url.origin}/`;
  if (!isOrigin)
    throw refuse(given, 'an http or https address without path, such as https://sho.rt');
  return url.origin;
}

function parseLogLevel(given: Given): LogLevel {
  const { text } = given;
  if (!isLogLevel(text)) throw refuse(given, `one of ${LOG_LEVELS.join(', ')}`);
  return text;
}

function parseHosts(given: Given): string[] {
  const hosts = parseHostList(given.text);
  if (hosts === undefined) {
    throw refuse(given, 'hosts without scheme or port, such as example.com, separated by commas');
  }
  return hosts;
}

function parseDrainDelay(given: Given): number {
  const { text } = given;
  const delay = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (!(delay <= MAX_DRAIN_DELAY_MS)) {
    throw refuse(given, `milliseconds from 0 to ${MAX_DRAIN_DELAY_MS}`);
  }
  return delay;
}

function parseToken({ name, text }: Given): string | undefined {
  if (text === '') return undefined;
  // RFC 6750 section 2.1. The value is a secret, so the message doesn't repeat it.
  if (!/^[\w.~+/-]{16,}=*$/.test(text)) {
    throw new ConfigError(`${name} is not a token; expected 16 or more of A-Z a-z 0-9 - . _ ~ + /`);
  }
  return text;
}

/** A URL without what may be secret in it: user, password and query become `***`. */
function hideSecrets(text: string): string {
  return text.replace(/:\/\/.*@/, '://***@').replace(/\?.*$/, '?***');
}

/** `http://host:port` of an address, with the brackets IPv6 needs. */
export function httpOrigin(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
