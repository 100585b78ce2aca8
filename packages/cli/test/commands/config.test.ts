import {
  chmod,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config-file.ts';
import { KEY, NEXT_KEY, stubService } from '../stub-service.ts';
import { cli, testFolder } from '../test-io.ts';

async function homeWith(config: unknown, mode = 0o600): Promise<{ home: string; file: string }> {
  const home = await testFolder();
  const file = join(home, '.config', 'shortlink', 'config.json');
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, typeof config === 'string' ? config : JSON.stringify(config));
  await chmod(file, mode);
  return { home, file };
}

const CONFIG = {
  profile: 'live',
  profiles: {
    live: { base_url: 'https://live.example', api_key: KEY },
    staging: { base_url: 'https://staging.example' },
  },
};

test('flag wins over environment wins over config file', async () => {
  const { home } = await homeWith(CONFIG);
  const get = async (args: string[], env = {}) =>
    (await cli(['config', 'get', 'base_url', ...args], { home, env })).stdout;
  const env = { SHORTLINK_BASE_URL: 'https://env.example' };
  expect(await get([])).toBe('https://live.example\n');
  expect(await get([], env)).toBe('https://env.example\n');
  expect(await get(['--base-url', 'https://flag.example'], env)).toBe('https://flag.example\n');
  expect(await get(['--profile', 'staging'])).toBe('https://staging.example\n');
  expect(await get([], { SHORTLINK_PROFILE: 'staging' })).toBe('https://staging.example\n');
  expect(await get([], { SHORTLINK_BASE_URL: '' })).toBe('https://live.example\n');
});

test('get never prints the whole key; what is not set exits 1', async () => {
  const { home } = await homeWith(CONFIG);
  expect((await cli(['config', 'get', 'api_key'], { home })).stdout).toBe('****cdef\n');
  const missing = await cli(['config', 'get', 'api_key', '--profile', 'staging'], { home });
  expect(missing).toMatchObject({ exitCode: 1, stdout: '' });
  const json = await cli(['config', 'get', 'profile', '--json'], { home });
  expect(JSON.parse(json.stdout)).toEqual({
    name: 'profile',
    value: 'live',
    source: 'config file',
  });
});

test('list shows settings, sources and profiles, and no key', async () => {
  const { home, file } = await homeWith(CONFIG);
  const plain = await cli(['config', 'list'], { home });
  expect(plain.stdout).toMatch(/^api_key +\*{4}cdef +config file$/m);
  expect(plain.stdout).toContain('profiles: live, staging');
  expect(plain.stdout).not.toContain(KEY);
  const json = await cli(['config', 'list', '--json'], { home });
  expect(JSON.parse(json.stdout)).toEqual({
    file,
    settings: {
      base_url: { value: 'https://live.example', source: 'config file' },
      api_key: { value: '****cdef', source: 'config file' },
      profile: { value: 'live', source: 'config file' },
    },
    profiles: {
      live: { base_url: 'https://live.example', api_key: '****cdef' },
      staging: { base_url: 'https://staging.example', api_key: null },
    },
  });
});

test('set changes one setting of one profile and makes the file', async () => {
  const home = await testFolder();
  const set = (...args: string[]) => cli(['config', 'set', ...args], { home });
  expect((await set('base_url', 'https://a.example')).exitCode).toBe(0);
  expect((await set('base_url', 'https://b.example', '--profile', 'b')).exitCode).toBe(0);
  expect((await set('profile', 'b')).exitCode).toBe(0);
  const file = join(home, '.config', 'shortlink', 'config.json');
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
    profile: 'b',
    profiles: {
      default: { base_url: 'https://a.example' },
      b: { base_url: 'https://b.example' },
    },
  });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test('advice to log in names the profile of the command line', async () => {
  const { home } = await homeWith({
    profiles: { default: {}, b: { base_url: 'http://127.0.0.1:9' } },
  });
  const create = (profile: string) =>
    cli(['create', 'https://example.com', '--profile', profile], { home });
  expect((await create('b')).stderr).toContain('shortlink auth login --profile b\n');
  expect((await create('default')).stderr).toContain('shortlink auth login --profile default\n');
});

test('a config file may begin with a byte order mark, as editors of Windows write it', async () => {
  const { home } = await homeWith(`\ufeff${JSON.stringify(CONFIG)}`);
  const { stdout } = await cli(['config', 'get', 'profile'], { home });
  expect(stdout).toBe('live\n');
});

test.each([
  [['api_key', 'sl_secret_0123456789'], /auth login/],
  [['base_url', 'ftp://x'], /http: or https:/],
  [['base_url', 'https://user:secret@x'], /credentials/],
  [['profile', 'nope'], /no profile "nope" \(argument\)/],
  [['profile', '../etc'], /letters, digits/],
  [['colour', 'red'], /base_url, api_key, profile/],
])('set %j is refused', async (args, words) => {
  const { home, file } = await homeWith(CONFIG);
  const result = await cli(['config', 'set', ...args], { home });
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toMatch(words);
  expect(result.stderr).not.toContain('secret');
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(CONFIG);
});

test.each([
  ['{"profiles": {"a": {"api_key": "sl_secret_', /not valid JSON/],
  [{ profiles: { a: { api_key: 5 } } }, /profiles\.a\.api_key/],
  [{ profiles: { a: { apikey: 'sl_secret_0123' } } }, /profiles\.a.*apikey/],
  [{ profiles: { a: { base_url: 'nowhere' } } }, /profiles\.a\.base_url/],
  ['[]', /not valid/],
])('a config file with %j is one clear line', async (config, words) => {
  const { home, file } = await homeWith(config);
  const result = await cli(['config', 'list'], { home });
  expect(result.exitCode).toBe(2);
  expect(result.stderr.split('\n')[0]).toMatch(words);
  expect(result.stderr).toContain(file);
  expect(result.stderr).not.toContain('sl_secret');
});

test('on Windows, where modes say nothing, no file is closed', async () => {
  const { file } = await homeWith(CONFIG, 0o644);
  expect((await readConfig(file, 'win32')).warning).toBeUndefined();
  expect((await stat(file)).mode & 0o777).toBe(0o644);
});

test.each([0o644, 0o640, 0o604])('a file of mode %i is closed, with a warning', async (mode) => {
  const { home, file } = await homeWith(CONFIG, mode);
  const result = await cli(['config', 'get', 'profile'], { home });
  expect(result).toMatchObject({ exitCode: 0, stdout: 'live\n' });
  expect(result.stderr).toMatch(/warning: .*06[04]{2}.*0600/);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await cli(['config', 'get', 'profile'], { home })).stderr).toBe('');
});

test.each([
  [['--profile', 'prod'], {}],
  [[], { SHORTLINK_PROFILE: 'prod' }],
])('a profile that does not exist is named, with those that do: %j %j', async (flags, env) => {
  const { home } = await homeWith(CONFIG);
  const result = await cli(['config', 'list', ...flags], { home, env });
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toMatch(/no profile "prod".*\n.*live, staging/);
});

test.each([
  ['flag', NEXT_KEY, ['--api-key', NEXT_KEY], {}],
  ['flag that is just long enough', 'sl_45678', ['--api-key', 'sl_45678'], {}],
  ['environment', NEXT_KEY, [], { SHORTLINK_API_KEY: NEXT_KEY }],
  ['profile that is not used', KEY, ['--profile', 'staging'], {}],
])('a key of the %s is hidden where a wrong setting holds it', async (_, key, flags, env) => {
  const { home } = await homeWith(CONFIG);
  const argv = ['config', 'list', '--base-url', `ftp://${key}`, ...flags];
  const result = await cli(argv, { home, env });
  expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('ftp://****') });
  expect(result.stderr).not.toContain(key);
});

test('of a short key, nothing is shown', async () => {
  const { home } = await homeWith(CONFIG);
  for (const [key, shown] of [
    ['sl_secret_012345', '****2345'],
    ['sl_secret_01234', '****'],
  ] as const) {
    const env = { SHORTLINK_API_KEY: key };
    expect((await cli(['config', 'get', 'api_key'], { home, env })).stdout).toBe(`${shown}\n`);
  }
});

test('of a config file behind a symbolic link, the link stays and its target changes', async () => {
  const { home, file } = await homeWith(CONFIG);
  const target = join(home, 'dotfiles.json');
  await rename(file, target);
  await symlink(target, file);
  const result = await cli(['config', 'set', 'profile', 'staging'], { home });
  expect(result.exitCode, result.stderr).toBe(0);
  expect(await readlink(file)).toBe(target);
  const changed = { ...CONFIG, profile: 'staging' };
  expect(JSON.parse(await readFile(target, 'utf8'))).toEqual(changed);
  expect((await stat(target)).mode & 0o777).toBe(0o600);
});

test('a home that is no folder has no config file', async () => {
  const service = await stubService();
  const { exitCode, stderr } = await cli(['usage'], { home: '/dev/null', env: service.env });
  expect(exitCode, stderr).toBe(0);
});

test.each(['', '/', '/api/v1', '/api/v1/'])(
  'a stored key is sent where the file has its address with %j at the end',
  async (end) => {
    const service = await stubService();
    const base_url = `${service.url}${end}`;
    const { home } = await homeWith({ profiles: { default: { api_key: KEY, base_url } } });
    const { exitCode, stderr } = await cli(['usage'], { home });
    expect(exitCode, stderr).toBe(0);
    expect(service.requests.map(({ path }) => path)).toEqual(['/api/v1/usage']);
  },
);

test('a relative XDG_CONFIG_HOME counts for nothing', async () => {
  const { home } = await homeWith(CONFIG);
  const env = { XDG_CONFIG_HOME: 'configs' };
  expect((await cli(['config', 'get', 'profile'], { home, env })).stdout).toBe('live\n');
});

test('a bad value in the environment is named by where it stands', async () => {
  const url = await cli(['usage'], {
    env: { SHORTLINK_BASE_URL: 'https://u:pw@x', SHORTLINK_API_KEY: KEY },
  });
  expect(url.exitCode).toBe(2);
  expect(url.stderr).toContain('environment');
  expect(url.stderr).not.toContain('pw');
  const key = await cli(['usage', '--base-url', 'https://x.example', '--api-key', 'a b c d e f']);
  expect(key.exitCode).toBe(2);
  expect(key.stderr).toContain('flag');
  expect(key.stderr).not.toContain('a b c');
});

describe('a stored key is sent only to the address that it was stored with', () => {
  const login = async (home: string, url: string) =>
    await cli(['auth', 'login', '--base-url', url], { home, input: KEY });

  test.each([
    ['--base-url', ['--base-url'], ''],
    ['SHORTLINK_BASE_URL', [], 'SHORTLINK_BASE_URL'],
  ])('%s with another address needs a key of its own', async (_, flag, variable) => {
    const [own, other] = [await stubService(), await stubService()];
    const home = await testFolder();
    await login(home, own.url);
    const args = ['usage', ...flag.flatMap((name) => [name, other.url])];
    const env = variable === '' ? {} : { [variable]: other.url };
    const refused = await cli(args, { home, env });
    expect(refused.exitCode).toBe(4);
    expect(refused.stderr).toContain(`No API key is set for ${other.url}`);
    expect(refused.stderr).toContain(`The stored key is for ${own.url} only.`);
    expect(refused.stderr).toContain(`shortlink auth login --base-url ${other.url}`);
    expect(other.requests).toEqual([]);
    const given = await cli(args, { home, env: { ...env, SHORTLINK_API_KEY: KEY } });
    expect(given.exitCode, given.stderr).toBe(0);
    expect(other.requests).toHaveLength(1);
  });

  test('where none is stored, that is all that is said', async () => {
    const { home } = await homeWith({ profiles: { default: { base_url: 'https://own.example' } } });
    const refused = await cli(['usage', '--base-url', 'https://other.example'], { home });
    expect(refused.exitCode).toBe(4);
    expect(refused.stderr).toContain('No API key is set.');
    expect(refused.stderr).not.toContain('own.example');
  });

  test('the spelling of its address is no matter', async () => {
    const service = await stubService();
    const home = await testFolder();
    await login(home, service.url);
    const spelled = `${service.url.replace('http:', 'HTTP:')}//`;
    const result = await cli(['usage', '--base-url', spelled], { home });
    expect(result.exitCode, result.stderr).toBe(0);
  });

  test('the address of a profile that has a key is changed with the key only', async () => {
    const { home, file } = await homeWith(CONFIG);
    const set = (url: string) => cli(['config', 'set', 'base_url', url], { home });
    const refused = await set('https://other.example');
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain('shortlink auth login --base-url https://other.example');
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(CONFIG);
    expect((await set('https://live.example/api/v1//')).exitCode).toBe(0);
    // The same service: its address is written without the path, and the key stays.
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(CONFIG);
    await cli(['auth', 'logout'], { home });
    expect((await set('https://other.example')).exitCode).toBe(0);
  });
});

test('XDG_CONFIG_HOME moves the file', async () => {
  const xdg = await testFolder();
  const env = { XDG_CONFIG_HOME: xdg };
  await cli(['config', 'set', 'base_url', 'https://x.example'], { env });
  expect((await stat(join(xdg, 'shortlink', 'config.json'))).isFile()).toBe(true);
});

test('settings that several processes change at once are all kept', async () => {
  const { home, file } = await homeWith(CONFIG);
  const names = Array.from({ length: 12 }, (_, number) => `p${number}`);
  const results = await Promise.all(
    names.map((name) =>
      cli(['config', 'set', 'base_url', 'https://a.example', '--profile', name], { home }),
    ),
  );
  expect(results.map(({ exitCode }) => exitCode)).toEqual(names.map(() => 0));
  const { profiles } = JSON.parse(await readFile(file, 'utf8'));
  expect(Object.keys(profiles)).toEqual(expect.arrayContaining(['live', 'staging', ...names]));
  expect(await readdir(dirname(file))).toEqual(['config.json']);
});

test('what a killed process has left of the config file is replaced, and what another one writes is waited for', async () => {
  const { home, file } = await homeWith(CONFIG);
  await writeFile(`${file}.new`, '{"profiles":{}}');
  const killedAt = new Date(Date.now() - 4_500);
  await utimes(`${file}.new`, killedAt, killedAt);
  const set = await cli(['config', 'set', 'profile', 'staging'], { home });
  expect(set).toMatchObject({ exitCode: 0 });
  expect(Date.now() - killedAt.getTime()).toBeGreaterThan(5_000);
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ ...CONFIG, profile: 'staging' });
  expect(await readdir(dirname(file))).toEqual(['config.json']);
});

test('what a killed process has left of the config file is replaced, also where the clock was set back since', async () => {
  const { home, file } = await homeWith(CONFIG);
  await writeFile(`${file}.new`, '{"profiles":{}}');
  const killedAt = new Date(Date.now() + 3_600_000);
  await utimes(`${file}.new`, killedAt, killedAt);
  const set = await cli(['config', 'set', 'profile', 'staging'], { home });
  expect(set).toMatchObject({ exitCode: 0 });
  expect(await readdir(dirname(file))).toEqual(['config.json']);
});
