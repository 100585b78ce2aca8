import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { percentDecoded } from './domain/hostnames.ts';
import { parseHostList } from './domain/targets.ts';

/** Levels of `SHORTLINK_LOG_LEVEL`, most urgent first. Single redirects are logged at `debug`. */
export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Kind<T> {
  /** `undefined` when the text can't be used. */
  parse: (text: string) => T | undefined;
  /** What stands for it in the help. @default it has no flag */
  value?: string;
  /** What is accepted, for the message about any other text. */
  accepts: string;
  /** The value of a setting that has no default and is not given. @default undefined */
  none?: T;
  /** The text as it may be shown. @default as it is */
  shown?: (text: string) => string;
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

export const DATABASE: Kind<DatabaseSetting> = {
  value: '<url>',
  accepts:
    'sqlite:<path>, sqlite::memory: or postgres://user:password@host/database; a path has no "?"',
  parse: (text) => {
    const path = /^sqlite:(?:\/\/)?(.+)$/i.exec(text)?.[1];
    // `sqlite:postgres://user:password@host` is not a file name, nor is `a.db?mode=ro`. Errors show the names of files, with the password.
    if (path !== undefined) return /:\/\/|\?/.test(path) ? undefined : { engine: 'sqlite', path };
    const url = /^postgres(?:ql)?:\/\//i.test(text) ? URL.parse(text) : null;
    // A path of more than one name means that the password contains an `@` or `/` that should be percent-encoded.
    if (url === null || !/^\/[^/@]+$/.test(url.pathname)) return undefined;
    // The driver decodes these. Its own error about a stray `%` does not name the setting.
    const isDecodable = percentDecoded(url.username + url.password + url.pathname) !== undefined;
    return isDecodable ? { engine: 'postgres', url: text } : undefined;
  },
  // A mistyped one can have its password in any place, so only the scheme is shown, and after it what looks like a path and nothing else.
  shown: (text) => {
    const scheme = /^[a-z][a-z\d+.-]*:(?:\/\/)?/i.exec(text)?.[0] ?? '';
    const rest = text.slice(scheme.length);
    return scheme + (rest === '' || /^\.{0,2}\/[\w./-]*$/.test(rest) ? rest : '***');
  },
};

/** A database in words: its file, or server and name; never user, password or options. */
export function databaseName(database: DatabaseSetting): string {
  if (database.engine === 'sqlite') {
    return database.path === ':memory:' ? database.path : resolve(database.path);
  }
  const { protocol, host, pathname } = new URL(database.url);
  return `${protocol}//${host}${pathname}`;
}

export const whole = (what: string, min: number, max: number, value = '<n>'): Kind<number> => ({
  value,
  accepts: `${what} from ${min} to ${max}`,
  parse: (text) => {
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  },
});

export const BOOLEAN: Kind<boolean> = {
  value: '<boolean>',
  accepts: 'true or false',
  parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
};

const COUNT_OF_WORKERS = whole('a number', 1, 64);
export const WORKERS: Kind<number> = {
  value: '<n>',
  accepts: `auto, or ${COUNT_OF_WORKERS.accepts}`,
  parse: (text) => (text === 'auto' ? availableParallelism() : COUNT_OF_WORKERS.parse(text)),
};

export const HOST: Kind<string> = {
  value: '<host>',
  accepts: 'a host name or an IP address',
  parse: (text) => (/^[\w.:-]+$/.test(text) ? text : undefined),
};

export const ORIGIN: Kind<string | undefined> = {
  value: '<url>',
  accepts: 'an http or https address without path, such as https://sho.rt',
  parse: (text) => {
    const url = parseHttp(text);
    return url?.href === `${url?.origin}/` ? url?.origin : undefined;
  },
  shown: withoutSecrets,
};

export const WEB_URL: Kind<string | undefined> = {
  value: '<url>',
  accepts: 'an http or https address, such as https://www.example.com/gone',
  parse: (text) => {
    const url = parseHttp(text);
    return url?.username === '' && url.password === '' ? url.href : undefined;
  },
  shown: withoutSecrets,
};

/** A user may have a password, which may be mistyped, too: with a slash or a question mark in it, for example. A query may have a token. */
function withoutSecrets(text: string): string {
  const shown = text.replace(/^([a-z]+:\/*)?(?:.*[?#].*@.*|.*(@))/is, '$1***$2');
  return shown.replace(/([?#]).*/s, '$1***');
}

function parseHttp(text: string): URL | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}

export const HOSTS: Kind<string[]> = {
  value: '<hosts>',
  accepts: 'hosts without scheme or port, such as example.com or [::1], separated by commas',
  parse: parseHostList,
  none: [],
};

export const PATH: Kind<string | undefined> = {
  value: '<path>',
  accepts: 'a path',
  parse: (text) => text,
};

export const LOG_LEVEL: Kind<LogLevel> = {
  value: '<level>',
  accepts: `one of ${LOG_LEVELS.join(', ')}`,
  parse: (text) => LOG_LEVELS.find((level) => level === text),
};

/** RFC 6750 section 2.1. */
export const TOKEN: Kind<string | undefined> = {
  accepts: 'a token of 16 or more of A-Z a-z 0-9 - . _ ~ + /',
  parse: (text) => (/^[\w.~+/-]{16,}=*$/.test(text) ? text : undefined),
  shown: (text) => text && '***',
};
