import { resolve } from 'node:path';
import { parseHostList } from './domain/targets.ts';

/** Levels of `SHORTLINK_LOG_LEVEL`, most urgent first. Single redirects are logged at `debug`. */
export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function isLogLevel(text: string): text is LogLevel {
  return LOG_LEVELS.some((level) => level === text);
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

export function parseDatabase(text: string): { value: DatabaseSetting } | undefined {
  const path = /^sqlite:(?:\/\/)?(.+)$/i.exec(text)?.[1];
  // `sqlite:postgres://user:password@host` is not a file name. It is rejected here, because errors show the names of files.
  if (path !== undefined) {
    return path.includes('://') ? undefined : { value: { engine: 'sqlite', path } };
  }
  const url = /^postgres(?:ql)?:\/\//i.test(text) ? URL.parse(text) : null;
  // A path of more than one name means that the password contains an `@` or `/` that should be percent-encoded.
  if (url === null || !/^\/[^/@]+$/.test(url.pathname)) return undefined;
  return isDecodable(url) ? { value: { engine: 'postgres', url: text } } : undefined;
}

/** A database in words: its file, or server and name; never user, password or options. */
export function databaseName(database: DatabaseSetting): string {
  if (database.engine === 'sqlite') {
    return database.path === ':memory:' ? database.path : resolve(database.path);
  }
  const { protocol, host, pathname } = new URL(database.url);
  return `${protocol}//${host}${pathname}`;
}

/** The driver decodes the user and the password. Its own error about a stray `%` does not name the setting. */
function isDecodable({ username, password, pathname }: URL): boolean {
  try {
    return decodeURIComponent(username + password + pathname) !== '';
  } catch {
    return false;
  }
}

export function parseWhole(text: string, max: number, min = 0): { value: number } | undefined {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? { value } : undefined;
}

export function parseOrigin(text: string): { value: string | undefined } | undefined {
  if (text === '') return { value: undefined };
  const url = parseHttp(text);
  return url !== null && url.href === `${url.origin}/` ? { value: url.origin } : undefined;
}

export function parseWebUrl(text: string): { value: string | undefined } | undefined {
  if (text === '') return { value: undefined };
  const url = parseHttp(text);
  return url !== null && url.username === '' && url.password === ''
    ? { value: url.href }
    : undefined;
}

function parseHttp(text: string): URL | null {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url : null;
}

export function parseHosts(text: string): { value: string[] } | undefined {
  const hosts = parseHostList(text);
  return hosts && { value: hosts };
}

/** RFC 6750 section 2.1. */
export function parseToken(text: string): { value: string | undefined } | undefined {
  if (text === '') return { value: undefined };
  return /^[\w.~+/-]{16,}=*$/.test(text) ? { value: text } : undefined;
}

/**
 * The address of a database as it may be shown. A mistyped one can have its password in any place, so only the scheme is
 * shown, and after it what looks like a path and nothing else.
 */
export function withoutSecrets(text: string): string {
  const scheme = /^[a-z][a-z\d+.-]*:(?:\/\/)?/i.exec(text)?.[0] ?? '';
  const rest = text.slice(scheme.length);
  return scheme + (rest === '' || /^\.{0,2}\/[\w./-]*$/.test(rest) ? rest : '***');
}
