import { describe, expect, test } from 'vitest';
import { httpOrigin, readSettings } from './config.ts';

test('without flags and environment, the defaults hold', () => {
  expect(readSettings({}, {})).toEqual({
    database: { engine: 'sqlite', path: './shortlink.db' },
    host: '127.0.0.1',
    port: 8787,
    publicUrl: undefined,
    logLevel: 'info',
    targetAllow: [],
    targetDeny: [],
    drainDelayMs: 0,
    metricsToken: undefined,
  });
});

test('a flag wins over the environment, an empty variable counts as not set', () => {
  const env = {
    SHORTLINK_DATABASE_URL: 'sqlite::memory:',
    SHORTLINK_HOST: '0.0.0.0',
    SHORTLINK_PORT: '',
    SHORTLINK_PUBLIC_URL: 'https://SHO.rt/',
    SHORTLINK_LOG_LEVEL: 'debug',
    SHORTLINK_TARGET_ALLOW: 'Example.com, example.org',
    SHORTLINK_TARGET_DENY: 'old.example.com',
    SHORTLINK_DRAIN_DELAY_MS: '5000',
    SHORTLINK_METRICS_TOKEN: 'a.long-enough_token==',
  };
  expect(readSettings({ host: '::1' }, env)).toEqual({
    database: { engine: 'sqlite', path: ':memory:' },
    host: '::1',
    port: 8787,
    publicUrl: 'https://sho.rt',
    logLevel: 'debug',
    targetAllow: ['example.com', 'example.org'],
    targetDeny: ['old.example.com'],
    drainDelayMs: 5000,
    metricsToken: 'a.long-enough_token==',
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

describe('a bad value is named in one line, with what is accepted', () => {
  test.each([
    ['SHORTLINK_PORT', 'abc', 'SHORTLINK_PORT is "abc"; expected a port from 0 to 65535'],
    ['SHORTLINK_PORT', '65536', 'a port from 0 to 65535'],
    ['SHORTLINK_PORT', '-1', 'a port from 0 to 65535'],
    ['SHORTLINK_PORT', '80.5', 'a port from 0 to 65535'],
    ['SHORTLINK_HOST', 'http://x', 'a host name or an IP address'],
    ['SHORTLINK_DATABASE_URL', './x.db', 'sqlite:<path>, sqlite::memory: or postgres://'],
    ['SHORTLINK_DATABASE_URL', 'sqlite:', 'sqlite:<path>, sqlite::memory: or postgres://'],
    ['SHORTLINK_DATABASE_URL', 'mysql://db/x', 'sqlite:<path>, sqlite::memory: or postgres://'],
    ['SHORTLINK_DATABASE_URL', 'postgres://db', 'postgres://user:password@host/database'],
    ['SHORTLINK_DATABASE_URL', 'postgres:db/x', 'postgres://user:password@host/database'],
    ['SHORTLINK_PUBLIC_URL', 'sho.rt', 'an http or https address without path'],
    ['SHORTLINK_PUBLIC_URL', 'ftp://sho.rt', 'an http or https address without path'],
    ['SHORTLINK_PUBLIC_URL', 'https://sho.rt/s', 'an http or https address without path'],
    ['SHORTLINK_PUBLIC_URL', 'https://a@sho.rt', 'an http or https address without path'],
    ['SHORTLINK_TARGET_ALLOW', 'https://example.com', 'hosts without scheme or port'],
    ['SHORTLINK_TARGET_DENY', '*.example.com', 'hosts without scheme or port'],
    ['SHORTLINK_DRAIN_DELAY_MS', '5s', 'milliseconds from 0 to 60000'],
    ['SHORTLINK_DRAIN_DELAY_MS', '60001', 'milliseconds from 0 to 60000'],
    ['SHORTLINK_LOG_LEVEL', 'loud', 'one of silent, fatal, error, warn, info, debug, trace'],
  ])('%s=%s', (name, value, message) => {
    const read = () => readSettings({}, { [name]: value });
    expect(read).toThrow(message);
    expect(read).toThrow(new RegExp(`^${name} is [^\n]*$`));
  });

  test.each(['short', 'sixteen or more characters', `${'x'.repeat(20)}\n`])(
    'a metrics token like %j is refused without being repeated',
    (token) => {
      const read = () => readSettings({}, { SHORTLINK_METRICS_TOKEN: token });
      expect(read).toThrow('SHORTLINK_METRICS_TOKEN is not a token');
      expect(read).not.toThrow(token);
    },
  );

  test('flags are named as flags', () => {
    expect(() => readSettings({ port: 'x' }, { SHORTLINK_PORT: '1' })).toThrow('--port is "x"');
  });

  test('secrets in it are hidden', () => {
    const value = 'postgresql://user:p@ss/word@db.example/x?password=hunter2';
    expect(() => readSettings({ database: value }, {})).toThrow(
      '--database is "postgresql://***@db.example/x?***"',
    );
  });
});

test('an IPv6 address gets its brackets in a URL', () => {
  expect(httpOrigin('::1', 80)).toBe('http://[::1]:80');
  expect(httpOrigin('127.0.0.1', 80)).toBe('http://127.0.0.1:80');
});
