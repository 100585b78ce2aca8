import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import {
  chmod,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  stat,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { KEY, nobodyListens, stubService } from '../stub-service.ts';
import { cli, testFolder } from '../test-io.ts';

const configFile = (home: string) => join(home, '.config', 'shortlink', 'config.json');
const readConfig = async (home: string) => JSON.parse(await readFile(configFile(home), 'utf8'));

test('login reads the key from a pipe, checks it and stores it for its owner only', async () => {
  const service = await stubService();
  const home = await testFolder();
  const result = await cli(['auth', 'login', '--base-url', service.url], {
    home,
    input: `${KEY}\r\n`,
  });
  expect(result.exitCode, result.stderr).toBe(0);
  expect(await readConfig(home)).toEqual({
    profiles: { default: { base_url: service.url, api_key: KEY } },
  });
  expect((await stat(configFile(home))).mode & 0o777).toBe(0o600);
  expect((await stat(join(home, '.config', 'shortlink'))).mode & 0o777).toBe(0o700);
  expect(result.stdout + result.stderr).not.toContain(KEY);
  expect(result.stderr).toContain('****cdef');
  expect((await cli(['create', 'https://example.com/'], { home })).exitCode).toBe(0);
});

test('login on a terminal asks for address and key, and shows no letter of the key', async () => {
  const service = await stubService();
  const home = await testFolder();
  const result = await cli(['auth', 'login'], {
    home,
    tty: { stdin: true, stderr: true },
    onStart: (terminal) => {
      answerWhen(terminal, 'Base URL', `${service.url}\r`);
      answerWhen(terminal, 'API key', `x\u007f${KEY}\r`);
    },
  });
  expect(result.exitCode, result.stderr).toBe(0);
  expect(result.stderr).not.toContain(KEY.slice(0, 4));
  expect(result.stderr).toContain('API key: \n');
  expect((await readConfig(home)).profiles.default.api_key).toBe(KEY);
});

test('an address without a scheme is corrected: http for this machine only', async () => {
  const service = await stubService();
  const home = await testFolder();
  const address = service.url.replace('http://', '');
  const typed = await cli(['auth', 'login'], {
    home,
    tty: { stdin: true, stderr: true },
    onStart: (terminal) => {
      answerWhen(terminal, 'Base URL', `${address}\r`);
      answerWhen(terminal, 'API key', `${KEY}\r`);
    },
  });
  expect(typed.exitCode, typed.stderr).toBe(0);
  expect(typed.stderr).toContain(`Using ${service.url} for ${address}.`);
  expect((await readConfig(home)).profiles.default.base_url).toBe(service.url);

  const local = address.replace('127.0.0.1', 'localhost');
  const flag = await cli(['auth', 'login', '--base-url', local], { home, input: KEY });
  expect(flag.stderr).toContain(`Using http://${local} for ${local}.`);
  const remote = ['auth', 'login', '--base-url', 'sho.rt.invalid', '--max-retries', '0'];
  const elsewhere = await cli(remote, { home, input: KEY });
  expect(elsewhere.stderr).toContain('Using https://sho.rt.invalid for sho.rt.invalid.');
  expect(elsewhere.exitCode).not.toBe(0);
});

test('what is no address is asked for again', async () => {
  const service = await stubService();
  const home = await testFolder();
  const result = await cli(['auth', 'login'], {
    home,
    tty: { stdin: true, stderr: true },
    onStart: (terminal) => {
      answerWhen(terminal, 'Base URL', 'ftp://x\r');
      answerWhen(terminal, 'That is no address', `${service.url}\r`);
      answerWhen(terminal, 'API key', `${KEY}\r`);
    },
  });
  expect(result.exitCode, result.stderr).toBe(0);
});

test('login ends with a sign of success and with what to try next', async () => {
  const service = await stubService();
  const home = await testFolder();
  const args = ['auth', 'login', '--profile', 'staging', '--base-url', service.url];
  const { stderr } = await cli(args, { home, input: KEY });
  expect(stderr).toContain(`✓ Logged in to ${service.url} with the key ****cdef\n`);
  expect(stderr).toContain('shortlink create https://example.com/docs --profile staging\n');
});

test('login keeps the other profiles, and the name of the usual one', async () => {
  const service = await stubService();
  const home = await testFolder();
  await mkdir(join(home, '.config', 'shortlink'), { recursive: true });
  const live = { api_key: 'sl_of_another_profile', base_url: 'https://sho.rt' };
  await writeFile(configFile(home), JSON.stringify({ profile: 'live', profiles: { live } }));
  const args = ['auth', 'login', '--profile', 'staging', '--base-url', service.url];
  expect(await cli(args, { home, input: ` ${KEY} ` })).toMatchObject({ exitCode: 0 });
  expect(await readConfig(home)).toEqual({
    profile: 'live',
    profiles: { live, staging: { api_key: KEY, base_url: service.url } },
  });
});

test('login keeps a key that another process stored while this one was asked for', async () => {
  const service = await stubService();
  const home = await testFolder();
  const profiles = { other: { api_key: 'sl_of_another_process', base_url: 'https://sho.rt' } };
  const result = await cli(['auth', 'login', '--base-url', service.url], {
    home,
    tty: { stdin: true, stderr: true },
    onStart: ({ type, stderr }) => {
      const typeLate = (text: string) => {
        mkdirSync(dirname(configFile(home)), { recursive: true });
        writeFileSync(configFile(home), JSON.stringify({ profiles }), { mode: 0o600 });
        type(text);
      };
      answerWhen({ type: typeLate, stderr }, 'API key', `${KEY}\r`);
    },
  });
  expect(result.exitCode, result.stderr).toBe(0);
  const stored = { api_key: KEY, base_url: service.url };
  expect(await readConfig(home)).toEqual({ profiles: { ...profiles, default: stored } });
});

test('a folder in place of the file stays, and no key is beside it', async () => {
  const service = await stubService();
  const home = await testFolder();
  const folder = join(home, '.config', 'shortlink');
  const result = await cli(['auth', 'login', '--base-url', service.url], {
    home,
    tty: { stdin: true, stderr: true },
    onStart: ({ type, stderr }) => {
      const typeLate = (text: string) => {
        mkdirSync(configFile(home), { recursive: true });
        type(text);
      };
      answerWhen({ type: typeLate, stderr }, 'API key', `${KEY}\r`);
    },
  });
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toContain("Can't read the config");
  expect(await readdir(folder)).toEqual(['config.json']);
});

test('a file that can not be written leaves the old one, and no key in another one', async () => {
  const service = await stubService();
  const home = await testFolder();
  const login = ['auth', 'login', '--base-url', service.url];
  await cli(login, { home, input: KEY });
  const stored = await readFile(configFile(home), 'utf8');
  const handle = await open(configFile(home));
  const anyHandle: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const sync = vi.spyOn(anyHandle, 'sync');
  onTestFinished(() => sync.mockRestore());
  sync.mockRejectedValue(Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fsync' }));
  const result = await cli([...login, '--profile', 'other'], { home, input: KEY });
  expect(sync).toHaveBeenCalledOnce();
  expect(result.exitCode).toBe(1);
  expect(await readdir(dirname(configFile(home)))).toEqual(['config.json']);
  expect(await readFile(configFile(home), 'utf8')).toBe(stored);
});

test.each(['abc\u0003', '\u0004'])(
  '%j at the prompt exits 130 and stores nothing',
  async (keys) => {
    const service = await stubService();
    const home = await testFolder();
    const result = await cli(['auth', 'login', '--base-url', service.url], {
      home,
      tty: { stdin: true, stderr: true },
      onStart: (terminal) => answerWhen(terminal, 'API key', keys),
    });
    expect(result.exitCode).toBe(130);
    await expect(stat(configFile(home))).rejects.toThrow(/ENOENT/);
  },
);

test('a refused key is not stored', async () => {
  const service = await stubService();
  const home = await testFolder();
  const result = await cli(['auth', 'login', '--base-url', service.url], {
    home,
    input: 'sl_wrong_key_0123456789\n',
  });
  expect(result.exitCode).toBe(4);
  expect(result.stderr).toMatch(/nothing was stored/);
  expect(result.stderr).not.toContain('sl_wrong_key_0123456789');
  await expect(stat(configFile(home))).rejects.toThrow(/ENOENT/);
});

test("a service without usage is polled for a job that can't exist", async () => {
  const service = await stubService();
  const home = await testFolder();
  service.answer('GET /api/v1/usage', { status: 404 }, { status: 404 });
  const good = await cli(['auth', 'login', '--base-url', service.url], { home, input: KEY });
  expect(good.exitCode, good.stderr).toBe(0);
  // The second one brings another key: only a service tells them apart.
  for (const { path } of service.requests.slice(-2))
    expect(path).toMatch(/^\/api\/v1\/jobs\/[0-9a-f-]{36}$/);
  const bad = await cli(['auth', 'login', '--base-url', service.url], { home, input: 'wrong' });
  expect(bad.exitCode).toBe(4);
});

test('a website that knows no page of a service gets no key stored', async () => {
  const home = await testFolder();
  const website = createServer((_, response) => response.writeHead(404).end('<h1>Not found</h1>'));
  website.listen(0, '127.0.0.1');
  onTestFinished(() => void website.close());
  await once(website, 'listening');
  const url = `http://127.0.0.1:${(website.address() as AddressInfo).port}`;
  const login = await cli(['auth', 'login', '--base-url', url], { home, input: KEY });
  expect(login).toMatchObject({ exitCode: 1, stdout: '' });
  expect(login.stderr).toContain('Check the id and the base URL');
  await expect(stat(configFile(home))).rejects.toThrow(/ENOENT/);
  const env = { SHORTLINK_API_KEY: KEY, SHORTLINK_BASE_URL: url };
  expect(await cli(['auth', 'status'], { env })).toMatchObject({ exitCode: 1, stdout: '' });
});

test('a key that may not read usage is valid', async () => {
  const service = await stubService();
  service.answer('GET /api/v1/usage', { status: 403, body: { error: 'no' } });
  const result = await cli(['auth', 'status'], { env: service.env });
  expect(result.exitCode).toBe(0);
});

test.each([
  [404, { error: 'Not found.', code: 'not_found' }],
  [403, { error: 'Forbidden.' }],
])('an address that answers any key with %i gets no key stored', async (status, body) => {
  const home = await testFolder();
  const good = await stubService();
  await cli(['auth', 'login', '--base-url', good.url], { home, input: KEY });
  const before = await readFile(configFile(home), 'utf8');
  const other = createServer((_, response) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body)),
  );
  other.listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}/links`;
  const login = await cli(['auth', 'login', '--base-url', url], { home, input: KEY });
  expect(login.exitCode).not.toBe(0);
  expect(await readFile(configFile(home), 'utf8')).toBe(before);
  const env = { SHORTLINK_API_KEY: KEY, SHORTLINK_BASE_URL: url };
  expect(await cli(['auth', 'status'], { env })).toMatchObject({ stdout: '' });
});

test('the key of a disabled account is not called valid', async () => {
  const service = await stubService();
  const body = { error: 'The account is disabled.', code: 'account_disabled' };
  service.answer('GET /api/v1/usage', { status: 403, body });
  const { exitCode, stdout, stderr } = await cli(['auth', 'status'], { env: service.env });
  expect([exitCode, stdout]).toEqual([4, '']);
  expect(stderr).toContain('The account may not be used');
});

test('a server that is not there stores nothing', async () => {
  const home = await testFolder();
  const url = await nobodyListens();
  const result = await cli(['auth', 'login', '--base-url', url, '--max-retries', '0'], {
    home,
    input: KEY,
  });
  expect(result.exitCode).toBe(1);
  await expect(stat(configFile(home))).rejects.toThrow(/ENOENT/);
});

test.each([
  ['', /No API key/],
  ['two words', /printable ASCII/],
  ['schlüssel', /printable ASCII/],
])('the key %j is a usage error', async (input, words) => {
  const service = await stubService();
  const args = ['auth', 'login', '--base-url', service.url];
  const result = await cli(args, { home: await testFolder(), input });
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toMatch(words);
  expect(service.requests).toHaveLength(0);
});

test('status distinguishes a valid key from a refused one', async () => {
  const service = await stubService();
  const good = await cli(['auth', 'status'], { env: service.env });
  expect(good).toMatchObject({ exitCode: 0, stderr: '' });
  expect(good.stdout).toBe(
    `valid  key ****cdef (environment) at ${service.url}, profile default\n`,
  );
  const bad = await cli(['auth', 'status', '--json', '--api-key', 'sl_other_0123456789'], {
    env: service.env,
  });
  expect(bad.exitCode).toBe(4);
  expect(JSON.parse(bad.stdout)).toEqual({
    valid: false,
    base_url: service.url,
    profile: 'default',
    api_key: '****6789',
    source: 'flag',
  });
});

test('a variable that wins over a profile that was named is told', async () => {
  const service = await stubService();
  const home = await testFolder();
  const status = ['auth', 'status', '--profile', 'staging'];
  const login = ['auth', 'login', '--profile', 'staging', '--base-url', service.url];
  await cli(login, { home, input: KEY });
  expect(await cli(status, { home })).toMatchObject({ exitCode: 0, stderr: '' });
  const warned = async (env: Record<string, string>, args = status) =>
    /^warning: (.*) of the environment is used in place of what profile staging has/m.exec(
      (await cli(args, { home, env })).stderr,
    )?.[1];
  expect(await warned({ SHORTLINK_API_KEY: KEY })).toBe('SHORTLINK_API_KEY');
  expect(await warned(service.env)).toBe('SHORTLINK_API_KEY and SHORTLINK_BASE_URL');
  // Nobody has named it on this command line.
  const named = { ...service.env, SHORTLINK_PROFILE: 'staging' };
  expect(await warned(named, ['auth', 'status'])).toBeUndefined();
});

test('what is advised after an error is about the same profile', async () => {
  const service = await stubService();
  const home = await testFolder();
  const login = ['auth', 'login', '--profile', 'staging', '--base-url', service.url];
  await cli(login, { home, input: KEY });
  const url = 'https://example.com/';
  service.answer('POST /api/v1/links', { status: 401, body: { error: 'revoked' } });
  const { exitCode, stderr } = await cli(['create', url, '--profile', 'staging'], { home });
  expect(exitCode).toBe(4);
  expect(stderr).toContain('shortlink auth status --profile staging\n');
  expect(stderr).toContain('shortlink auth login --profile staging\n');
});

test.each([
  [{ status: 403, body: { error: 'no', upgrade: true } }, 'usage'],
  [{ status: 200, body: 'a page of a website' }, 'config list'],
])('a command that an error advises is about the same profile: %j', async (answer, command) => {
  const service = await stubService();
  const home = await testFolder();
  const login = ['auth', 'login', '--profile', 'staging', '--base-url', service.url];
  await cli(login, { home, input: KEY });
  service.answer('GET /api/v1/usage', answer);
  const { stderr } = await cli(['usage', '--profile', 'staging'], { home });
  expect(stderr).toContain(`shortlink ${command} --profile staging\n`);
});

test('status without a key exits 4, without a server 2', async () => {
  const env = { SHORTLINK_BASE_URL: 'https://sho.rt' };
  expect((await cli(['auth', 'status'], { env })).exitCode).toBe(4);
  expect((await cli(['auth', 'status'], { env: { SHORTLINK_API_KEY: KEY } })).exitCode).toBe(2);
});

test('logout removes the key of one profile and keeps the rest', async () => {
  const home = await testFolder();
  await mkdir(join(home, '.config', 'shortlink'), { recursive: true });
  const profiles = {
    default: { api_key: KEY, base_url: 'https://sho.rt' },
    staging: { api_key: KEY },
  };
  await writeFile(configFile(home), JSON.stringify({ profile: 'staging', profiles }));
  await chmod(configFile(home), 0o600);
  const result = await cli(['auth', 'logout', '--profile', 'default'], { home });
  expect(result).toMatchObject({ exitCode: 0, stdout: '' });
  expect(await readConfig(home)).toEqual({
    profile: 'staging',
    profiles: { default: { base_url: 'https://sho.rt' }, staging: { api_key: KEY } },
  });
  const again = await cli(['auth', 'logout', '--profile', 'default'], { home });
  expect(again.stderr).toContain('has no API key');
});

/** Types once the terminal asks. */
function answerWhen(
  terminal: { type: (text: string) => void; stderr: () => string },
  question: string,
  answer: string,
): void {
  const timer = setInterval(() => {
    if (terminal.stderr().includes(question)) {
      clearInterval(timer);
      terminal.type(answer);
    }
  }, 5);
}
