import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { httpOrigin, publicUrlOf, readSettings, SETTINGS } from './settings.ts';

test('without flags and environment, the defaults hold', () => {
  expect(readSettings({}, {})).toEqual({
    database: { engine: 'sqlite', path: './shortlink.db' },
    host: '127.0.0.1',
    port: 8787,
    publicUrl: undefined,
    rootUrl: undefined,
    notFoundUrl: undefined,
    linkCache: undefined,
    logLevel: 'info',
    targetAllow: [],
    forwardQuery: false,
    countPreviews: false,
    workers: 1,
    targetDeny: [],
    drainDelayMs: 0,
    databaseConnections: 15,
    metricsToken: undefined,
    tlsAskToken: undefined,
  });
});

test('a flag wins over the environment, an empty variable counts as not set', () => {
  const env = {
    SHORTLINK_DATABASE_URL: 'sqlite::memory:',
    SHORTLINK_HOST: '0.0.0.0',
    SHORTLINK_PORT: '',
    SHORTLINK_PUBLIC_URL: 'https://SHO.rt/',
    SHORTLINK_ROOT_URL: 'https://www.example.com',
    SHORTLINK_NOT_FOUND_URL: 'https://www.example.com/gone?from=sho.rt',
    SHORTLINK_LINK_CACHE: '/var/cache/links',
    SHORTLINK_LOG_LEVEL: 'debug',
    SHORTLINK_TARGET_ALLOW: 'Example.com, example.org',
    SHORTLINK_FORWARD_QUERY: 'true',
    SHORTLINK_COUNT_PREVIEWS: 'true',
    SHORTLINK_WORKERS: '4',
    SHORTLINK_TARGET_DENY: 'old.example.com',
    SHORTLINK_DRAIN_DELAY_MS: '5000',
    SHORTLINK_DATABASE_CONNECTIONS: '30',
    SHORTLINK_METRICS_TOKEN: 'a.long-enough_token==',
    SHORTLINK_TLS_ASK_TOKEN: 'another.long-enough_token',
  };
  expect(readSettings({ host: '::1' }, env)).toEqual({
    database: { engine: 'sqlite', path: ':memory:' },
    host: '::1',
    port: 8787,
    publicUrl: 'https://sho.rt',
    rootUrl: 'https://www.example.com/',
    notFoundUrl: 'https://www.example.com/gone?from=sho.rt',
    linkCache: '/var/cache/links',
    logLevel: 'debug',
    targetAllow: ['example.com', 'example.org'],
    forwardQuery: true,
    countPreviews: true,
    workers: 4,
    targetDeny: ['old.example.com'],
    drainDelayMs: 5000,
    databaseConnections: 30,
    metricsToken: 'a.long-enough_token==',
    tlsAskToken: 'another.long-enough_token',
  });
});

test.each([
  ['sqlite:x.db', 'x.db'],
  ['sqlite:/var/lib/x.db', '/var/lib/x.db'],
  ['sqlite:///var/lib/x.db', '/var/lib/x.db'],
  ['SQLITE::memory:', ':memory:'],
])('the database %s is the file %s', (url, path) => {
  expect(readSettings({ database: url }, {}).database).toEqual({ engine: 'sqlite', path });
});

test.each(['postgres', 'postgresql', 'POSTGRESQL'])('a database may begin with %s://', (scheme) => {
  const url = `${scheme}://u@db.example/x`;
  expect(readSettings({ database: url }, {}).database).toEqual({ engine: 'postgres', url });
});

describe('a bad value is named in one line, with what is accepted', () => {
  test.each([
    ['SHORTLINK_PORT', 'abc', 'SHORTLINK_PORT is "abc"; expected a port from 0 to 65535'],
    ['SHORTLINK_PORT', '65536', 'a port from 0 to 65535'],
    ['SHORTLINK_PORT', '-1', 'a port from 0 to 65535'],
    ['SHORTLINK_PORT', '80.5', 'a port from 0 to 65535'],
    ['SHORTLINK_HOST', 'http://x', 'a host name or an IP address'],
    ['SHORTLINK_DATABASE_URL', './x.db', 'sqlite:<path>, sqlite::memory: or postgres://'],
    ['SHORTLINK_DATABASE_URL', 'sqlite:', 'sqlite:<path>, sqlite::memory: or postgres://'],
    ['SHORTLINK_DATABASE_URL', 'sqlite:x.db?mode=ro', 'host/database; a path has no "?"'],
    ['SHORTLINK_DATABASE_URL', 'mysql://db/x', 'sqlite:<path>, sqlite::memory: or postgres://'],
    ['SHORTLINK_DATABASE_URL', 'postgres://db', 'postgres://user:password@host/database'],
    ['SHORTLINK_DATABASE_URL', 'postgres:db/x', 'postgres://user:password@host/database'],
    ['SHORTLINK_DATABASE_URL', 'postgres://db/x@y', 'postgres://user:password@host/database'],
    ['SHORTLINK_PUBLIC_URL', 'sho.rt', 'an http or https address without path'],
    ['SHORTLINK_PUBLIC_URL', 'ftp://sho.rt', 'an http or https address without path'],
    ['SHORTLINK_PUBLIC_URL', 'https://sho.rt/s', 'an http or https address without path'],
    ['SHORTLINK_PUBLIC_URL', 'https://a@sho.rt', 'an http or https address without path'],
    ['SHORTLINK_ROOT_URL', 'www.example.com', 'an http or https address, such as'],
    ['SHORTLINK_ROOT_URL', 'javascript:alert(1)', 'an http or https address, such as'],
    ['SHORTLINK_NOT_FOUND_URL', 'https://u:p@www.example.com', 'an http or https address, such'],
    ['SHORTLINK_NOT_FOUND_URL', 'https://:p@www.example.com', 'an http or https address, such'],
    ['SHORTLINK_TARGET_ALLOW', 'https://example.com', 'hosts without scheme or port'],
    ['SHORTLINK_TARGET_DENY', '*.example.com', 'hosts without scheme or port'],
    ['SHORTLINK_TARGET_DENY', '::1', 'such as example.com or [::1], separated by commas'],
    ['SHORTLINK_DRAIN_DELAY_MS', '5s', 'milliseconds from 0 to 60000'],
    ['SHORTLINK_DATABASE_CONNECTIONS', '1', 'a number from 2 to 1000'],
    ['SHORTLINK_DATABASE_CONNECTIONS', '1001', 'a number from 2 to 1000'],
    ['SHORTLINK_DRAIN_DELAY_MS', '60001', 'milliseconds from 0 to 60000'],
    ['SHORTLINK_FORWARD_QUERY', 'yes', 'true or false'],
    ['SHORTLINK_COUNT_PREVIEWS', '1', 'true or false'],
    ['SHORTLINK_WORKERS', '0', 'auto, or a number from 1 to 64'],
    ['SHORTLINK_LOG_LEVEL', 'loud', 'one of silent, fatal, error, warn, info, debug, trace'],
  ])('%s=%s', (name, value, message) => {
    const read = () => readSettings({}, { [name]: value });
    expect(read).toThrow(message);
    expect(read).toThrow(new RegExp(`^${name} is [^\n]*$`));
  });

  test.each(['short', 'x'.repeat(15), 'sixteen or more characters', `${'x'.repeat(20)}\n`])(
    'a metrics token like %j is refused without being repeated',
    (token) => {
      const read = () => readSettings({}, { SHORTLINK_METRICS_TOKEN: token });
      expect(read).toThrow('SHORTLINK_METRICS_TOKEN is "***"; expected a token of 16 or more');
      expect(read).not.toThrow(token);
    },
  );

  test.each([
    ['SHORTLINK_PUBLIC_URL', 'https://user:hunter2@sho.rt'],
    ['SHORTLINK_PUBLIC_URL', 'https:/user:hunt/hunter2@sho.rt'],
    ['SHORTLINK_ROOT_URL', 'user:hunter2@sho.rt'],
    ['SHORTLINK_NOT_FOUND_URL', 'https://user:hunter2@www.example.com/'],
  ])('%s=%s does not show its password', (name, value) => {
    const read = () => readSettings({}, { [name]: value });
    expect(read).toThrow(/\*\*\*@(?:sho\.rt|www\.example\.com\/)"; expected an http/);
    expect(read).not.toThrow('hunter2');
  });

  test.each([
    ['https://sho.rt?token=hunter2', 'https://sho.rt?***'],
    ['https://sho.rt/#hunter2\nhunter2', 'https://sho.rt/#***'],
    ['https://sho.rt?mail=hunter2@hunter2', 'https://***'],
    ['https://user:hunter2?hunter2@sho.rt', 'https://***'],
    ['https://user:hunter2@sho.rt?hunter2', 'https://***@sho.rt?***'],
  ])('a public URL like %j does not show what may be a secret', (text, shown) => {
    const read = () => readSettings({ publicUrl: text }, {});
    expect(read).toThrow(`--public-url is "${shown}"; expected an http`);
    expect(read).not.toThrow('hunter2');
  });

  test('flags are named as flags', () => {
    expect(() => readSettings({ port: 'x' }, { SHORTLINK_PORT: '1' })).toThrow('--port is "x"');
  });

  test.each([
    'postgresql://user:p@ss/hunter2@db.example/x?password=hunter2',
    'postgres:/user:hunter2@db.example/x',
    'postgres//user:hunter2@db.example/x',
    'postgres://user:hunter2#db.example/x',
    'postgres://user:hunter2/db.example/x',
    'postgres://user:hunter2@db.example:port/x',
    'postgres://user:hunter2%@db.example/x',
    'user:hunter2@db.example/x',
    'sqlite:postgres://user:hunter2@db.example/x',
    'mysql://user:hunter2@db.example/x',
    'host=db.example password=hunter2 dbname=x',
    'hunter2',
  ])('a mistyped database %s does not show its password', (value) => {
    for (const read of [
      () => readSettings({ database: value }, {}),
      () => readSettings({}, { SHORTLINK_DATABASE_URL: value }),
    ]) {
      expect(read).toThrow(/\*\*\*"; expected sqlite:/);
      expect(read).not.toThrow('hunter2');
    }
  });
});

describe('a value from a file', () => {
  const inFolder = async (act: (folder: string) => Promise<void>) => {
    const folder = await mkdtemp(join(tmpdir(), 'shortlink-settings-'));
    await act(folder).finally(() => rm(folder, { recursive: true }));
  };

  test.each(Object.values(SETTINGS).map(({ option }) => option.envVar ?? ''))(
    '%s_FILE is read, without the line ends after it and the mark of an editor before it',
    (variable) =>
      inFolder(async (folder) => {
        const values: Record<string, string> = {
          SHORTLINK_DATABASE_URL: 'postgres://user:hunter2@db.example/x',
          SHORTLINK_HOST: '::1',
          SHORTLINK_PORT: '1234',
          SHORTLINK_PUBLIC_URL: 'https://sho.rt',
          SHORTLINK_ROOT_URL: 'https://www.example.com/',
          SHORTLINK_NOT_FOUND_URL: 'https://www.example.com/gone',
          SHORTLINK_TARGET_ALLOW: 'example.com',
          SHORTLINK_FORWARD_QUERY: 'true',
          SHORTLINK_COUNT_PREVIEWS: 'true',
          SHORTLINK_WORKERS: '2',
          SHORTLINK_TARGET_DENY: 'example.org',
          SHORTLINK_DATABASE_CONNECTIONS: '20',
          SHORTLINK_DRAIN_DELAY_MS: '700',
          SHORTLINK_LINK_CACHE: '/var/cache/links',
          SHORTLINK_LOG_LEVEL: 'debug',
          SHORTLINK_METRICS_TOKEN: 'a.long-enough_token==',
          SHORTLINK_TLS_ASK_TOKEN: 'another.long-enough_token',
        };
        const value = values[variable] ?? '';
        const file = join(folder, 'value');
        for (const text of [value, `${value}\n`, `${value}\r\n\n`, `\ufeff${value}\n`]) {
          await writeFile(file, text);
          const fromFile = readSettings({}, { [`${variable}_FILE`]: file });
          expect(fromFile).toEqual(readSettings({}, { [variable]: value }));
          expect(fromFile).not.toEqual(readSettings({}, {}));
        }
      }),
  );

  test('may not stand beside the value itself; a flag wins over both', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'port');
      await writeFile(file, '1234');
      const env = { SHORTLINK_PORT: '1', SHORTLINK_PORT_FILE: file };
      expect(() => readSettings({}, env)).toThrow(
        'SHORTLINK_PORT and SHORTLINK_PORT_FILE are both set; expected one',
      );
      expect(readSettings({ port: '2' }, env).port).toBe(2);
      expect(readSettings({}, { ...env, SHORTLINK_PORT: '' }).port).toBe(1234);
    }));

  test('that is missing or wrong is named, and a secret in it is not shown', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'url');
      const read = () => readSettings({}, { SHORTLINK_DATABASE_URL_FILE: file });
      expect(read).toThrow(
        /^SHORTLINK_DATABASE_URL_FILE is ".*url"; expected a file .* \(ENOENT\)$/,
      );
      await writeFile(file, 'postgres://user:hunter2@db\n');
      expect(read).toThrow(
        /^SHORTLINK_DATABASE_URL_FILE is "postgres:\/\/\*\*\*"; expected sqlite:/,
      );
      // A secret that is lost must not open what it protects.
      await writeFile(file, '\n');
      expect(() => readSettings({}, { SHORTLINK_METRICS_TOKEN_FILE: file })).toThrow(
        /^SHORTLINK_METRICS_TOKEN_FILE is ""; expected a token/,
      );
    }));
});

test('an empty flag is a wrong value, not one that was not given', () => {
  const read = () => readSettings({ host: '' }, { SHORTLINK_HOST: '127.0.0.1' });
  expect(read).toThrow('--host is ""; expected a host name');
});

test('an IPv6 address gets its brackets in a URL', () => {
  expect(httpOrigin('::1', 80)).toBe('http://[::1]:80');
  expect(httpOrigin('127.0.0.1', 80)).toBe('http://127.0.0.1:80');
});

test('short URLs begin with the public URL, else with an address that others can reach', () => {
  const listening = { host: '0.0.0.0', port: 8787 };
  expect(publicUrlOf({ ...listening, publicUrl: undefined })).toBe('http://localhost:8787');
  expect(publicUrlOf({ host: '::', port: 1, publicUrl: undefined })).toBe('http://localhost:1');
  expect(publicUrlOf({ host: '::1', port: 1, publicUrl: undefined })).toBe('http://[::1]:1');
  expect(publicUrlOf({ ...listening, publicUrl: 'https://sho.rt' })).toBe('https://sho.rt');
});
