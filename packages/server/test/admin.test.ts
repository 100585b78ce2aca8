import { once } from 'node:events';
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { Link } from '@shortlink/sdk/wire';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { CommandContext } from '../src/admin/command.ts';
import { createDevAccount } from '../src/admin/keys.ts';
import { runProgram } from '../src/admin/program.ts';
import { hashApiKey } from '../src/api-key.ts';
import { uuidOf } from '../src/domain/ids.ts';
import { portOf } from '../src/serve.ts';
import { SETTINGS, type Settings } from '../src/settings.ts';
import { newLink } from '../src/store/contract/fixtures.test-suite.ts';
import type { DatabaseFacts } from '../src/store/operator-store.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import type { Account, NewLink, Store } from '../src/store/store.ts';
import { StoreError } from '../src/store/store-error.ts';
import { startTestServer } from '../src/testing/index.ts';
import { START, TARGET } from './fixture.ts';

let store: Store;
let closeStore: () => Promise<void>;
let out: string[];
let err: string[];
let outputError: Error | undefined;
let columns: number | undefined;
let started: [Settings, { dev: boolean }][];
let startFailure: Error | undefined;
let facts: DatabaseFacts;
let backups: [Settings, string][];
let migrate: () => Promise<{ from: number; to: number }>;

beforeEach(async () => {
  store = await openSqliteStore({ path: ':memory:', publicUrl: 'https://sho.rt' });
  // Commands close what they opened; the test's database has to outlive them.
  closeStore = store.close.bind(store);
  store.close = async () => undefined;
  outputError = undefined;
  columns = undefined;
  started = [];
  startFailure = undefined;
  backups = [];
  migrate = async () => ({ from: 0, to: 1 });
});
afterEach(() => closeStore());

async function run(...args: string[]): Promise<number> {
  return runIn({}, ...args);
}

async function runIn(env: Record<string, string>, ...args: string[]): Promise<number> {
  out = [];
  err = [];
  const context: CommandContext = {
    env,
    stdin: Readable.from([]),
    write: async (text) => {
      if (outputError !== undefined) throw outputError;
      out.push(...text.trimEnd().split('\n'));
    },
    // Every command says which database it uses; see `process.test.ts`.
    err: (line) => line.startsWith('database: ') || err.push(line),
    columns,
    now: () => START,
    databaseTools: (settings) => ({
      open: async () => store,
      inspect: async () => facts,
      migrate: () => migrate(),
      backup: async (file) => {
        backups.push([settings, file]);
      },
    }),
    interruptible: (act) => act(new AbortController().signal),
    start: async (settings, options) => {
      started.push([settings, options]);
      if (startFailure) throw startFailure;
    },
  };
  return runProgram(args, '1.2.3', context);
}

/** Runs a command with `--json` that must succeed. */
// biome-ignore lint/suspicious/noExplicitAny: each command prints another shape.
async function json(...args: string[]): Promise<any> {
  expect(await run(...args, '--json'), err?.join('\n')).toBe(0);
  expect(out).toHaveLength(1);
  return JSON.parse(out[0] ?? '');
}

const createAccount = (plan = 'custom', ...more: string[]) =>
  json('accounts', 'create', '--name', 'Acme', '--plan', plan, ...more);

describe('accounts', () => {
  test('create prints id, name, plan and limits', async () => {
    expect(await createAccount('pro')).toEqual({
      id: expect.stringMatching(/^acc_/),
      name: 'Acme',
      plan: 'pro',
      limits: {
        requests_per_minute: 60,
        requests_per_day: 10_000,
        requests_per_month: 200_000,
        links: 1_000,
        api_keys: 3,
        batch_size: 100,
      },
    });
  });

  test('Custom takes every limit on its own, or none', async () => {
    const names = ['rpm=600', 'rpd=unlimited', 'rpmonth=7', 'links=0', 'keys=0', 'batch=unlimited'];
    const account = await createAccount('custom', ...names.flatMap((limit) => ['--limit', limit]));
    expect(account.limits).toEqual({
      requests_per_minute: 600,
      requests_per_day: null,
      requests_per_month: 7,
      links: 0,
      api_keys: 0,
      batch_size: null,
    });
    expect((await createAccount('custom')).limits).toMatchObject({
      links: null,
      batch_size: 10_000,
    });
  });

  test('list and show print the same shape; an unknown id is exit 1', async () => {
    const [first, second] = [await createAccount('pro'), await createAccount('community')];
    expect(await json('accounts', 'list')).toEqual([first, second]);
    expect(await json('accounts', 'show', second.id)).toEqual(second);
    expect(await run('accounts', 'show', 'acc_none')).toBe(1);
    expect(err).toEqual(['error: account "acc_none" not found']);
  });

  test('update changes what is named, and keeps the rest', async () => {
    const { id, limits } = await createAccount('custom', '--limit', 'links=5');
    const renamed = await json('accounts', 'update', id, '--name', 'Renamed', '--limit', 'rpm=9');
    const changed = { ...limits, requests_per_minute: 9 };
    expect(renamed).toEqual({ id, name: 'Renamed', plan: 'custom', limits: changed });
    expect(await json('accounts', 'show', id)).toEqual(renamed);
    const pro = await json('accounts', 'update', id, '--plan', 'pro');
    expect(pro).toMatchObject({ name: 'Renamed', plan: 'pro', limits: { links: 1_000 } });
    expect(await run('accounts', 'update', id, '--limit', 'rpm=1')).toBe(2);
    expect(err.join()).toMatch(/--plan custom.*plan pro are fixed/);
    expect(await run('accounts', 'update', id)).toBe(2);
    expect(err.join()).toMatch(/nothing to change/);
    expect(await run('accounts', 'update', 'acc_none', '--name', 'x')).toBe(1);
    expect(await json('accounts', 'show', id)).toEqual(pro);
  });

  test('enable says why a link responds with 410 still', async () => {
    const account = await createAccount();
    const { code } = await createLink(account);
    await json('accounts', 'disable', account.id);
    expect(await json('links', 'enable', code)).toMatchObject({ is_active: false });
    expect(err).toContain(
      'It still responds with 410: its account is disabled, or its domain removed.',
    );
  });

  test('disable and enable show in every listing', async () => {
    const account = await createAccount('pro');
    const disabled = { ...account, disabled_at: '2026-11-20T10:20:30.500Z' };
    expect(await json('accounts', 'disable', account.id)).toEqual(disabled);
    expect(await json('accounts', 'list')).toEqual([disabled]);
    await run('accounts', 'list');
    expect(out[1]).toContain('disabled since 2026-11-20');
    expect(await json('accounts', 'enable', account.id)).toEqual(account);
    for (const verb of ['disable', 'enable']) {
      expect(await run('accounts', verb, 'acc_none')).toBe(1);
    }
  });

  test('for people, one field per line and columns', async () => {
    const { id } = await createAccount('pro');
    await run('accounts', 'show', id);
    expect(out.slice(0, 3)).toEqual([`id      ${id}`, 'name    Acme', 'plan    pro']);
    await run('accounts', 'list');
    expect(out).toHaveLength(2);
    expect(out[0]).toMatch(/^id +name +plan +status +limits$/);
    columns = 80;
    await run('accounts', 'list');
    expect(out.join('\n')).toContain('batch=100');
    expect(Math.max(...out.map((line) => line.length))).toBeLessThanOrEqual(80);
  });
});

test('what is just within its bounds is accepted', async () => {
  const limits = ['--limit', 'batch=10000'];
  const named = ['--name', 'x'.repeat(200), '--plan', 'custom', ...limits];
  const { id: account } = await json('accounts', 'create', ...named);
  const expires = new Date(START + 1).toISOString();
  const { id } = await json('keys', 'create', '--account', account, '--expires', expires);
  await json('keys', 'rotate', id, '--grace', '366d');
});

describe('a wrong command line is exit 2, says why and changes nothing', () => {
  test.each([
    [['accounts', 'create', '--name', 'x'], /--plan/],
    [['accounts', 'create', '--plan', 'pro'], /--name/],
    [['accounts', 'create', '--name', 'x', '--plan', 'gold'], /community, pro, avance, custom/],
    [['accounts', 'create', '--name', ' ', '--plan', 'pro'], /1 to 200 characters/],
    [['accounts', 'create', '--name', 'a\nb', '--plan', 'pro'], /one line/],
    [['accounts', 'create', '--name', 'x', '--plan', 'pro', '--limit', 'rpm=1'], /--plan custom/],
    [['accounts', 'create', '--name', 'x', '--plan', 'custom', '--limit', 'rps=1'], /rpm, rpd/],
    [['accounts', 'create', '--name', 'x', '--plan', 'custom', '--limit', 'rpm=-1'], /name=count/],
    [['accounts', 'create', '--name', 'x', '--plan', 'custom', '--limit', 'rpm'], /name=count/],
    [['accounts', 'update', 'x', '--limit', 'rpm=0'], /rpm of 1 or more, or unlimited/],
    [['accounts', 'update', 'x', '--limit', 'batch=10001'], /batch from 1 to 10000, or unlimited/],
    [['keys', 'create', '--account', 'x', '--permission', 'admin'], /shortlinks:write/],
    [['keys', 'create', '--account', 'x', '--expires', '2027-02-30'], /such as 2027-01-31/],
    [['keys', 'create', '--account', 'x', '--expires', 'tomorrow'], /such as 2027-01-31/],
    [['keys', 'create', '--account', 'x', '--expires', '2027-01-31T10:00'], /such as 2027-01-31/],
    [['keys', 'create', '--account', 'x', '--expires', '2027-01-31T25:00Z'], /such as 2027-01-31/],
    [['keys', 'create', '--account', 'x', '--expires', '2026-11-20'], /is in the past/],
    [['keys', 'create', '--account', 'x', '--expires', '2026-11-20T10:20:30.5Z'], /is in the past/],
    [['keys', 'rotate', 'x', '--grace', '1 day'], /such as 90s, 15m, 24h or 7d/],
    [['keys', 'rotate', 'x', '--grace', '400d'], /Expected at most 366d, such as 90s/],
    [['links', 'update', 'x'], /nothing to change: give --target or --title/],
    [['links', 'list'], /--account/],
    [['links', 'list', '--account', 'x', '--limit', '1001'], /1 to 1000/],
    [['links', 'list', '--account', 'x', '--limit', '0'], /1 to 1000/],
    [['links', 'list', '--account', 'x', '--cursor', 'zzzzzzz'], /id of a link/],
    [['keys', 'list'], /--account/],
    [['keys', 'revoke'], /key-id/],
    [['domains', 'add', 'https://go.example', '--account', 'x'], /without scheme/],
    [['links', 'show'], /code/],
    [['accounts', 'list', '--database', 'mysql://x'], /--database is "mysql:/],
    [['start', '--port', 'x'], /--port is "x"/],
    [['frobnicate'], /frobnicate/],
    [['accounts', 'list', '--frobnicate'], /--frobnicate/],
  ])('%j', async (args, message) => {
    expect(await run(...args)).toBe(2);
    expect(err.join('\n')).toMatch(message);
    expect(out).toEqual([]);
    expect(await store.listAccounts()).toEqual([]);
    expect(started).toEqual([]);
  });
});

test.each([
  [['accounts', 'show', 'acc_none'], 1, 'account "acc_none" not found'],
  [['accounts', 'list', '--frobnicate'], 2, "unknown option '--frobnicate'"],
  [['accounts', 'update', 'acc_none', '--plan', 'pro'], 1, 'account "acc_none" not found'],
  [['accounts', 'update', 'acc_none'], 2, 'nothing to change: give --name, --plan or --limit'],
  [['links', 'update'], 2, 'give the code of a link, or --from with a file of corrections'],
  [['accounts', 'list', '--public-url', 'x'], 2, expect.stringMatching(/^--public-url is "x"; /)],
  [['migrate'], 1, 'The database is busy.'],
])('%j: with --json, what is wrong is printed as JSON too', async (args, exitCode, error) => {
  migrate = () => Promise.reject(new StoreError('busy', 'The database is busy.'));
  expect(await run(...args, '--json')).toBe(exitCode);
  expect(out.map((line) => JSON.parse(line))).toEqual([{ error }]);
  expect(err.join('\n')).toContain(JSON.parse(out[0] ?? '').error);
});

test('no text of the database or the command line can steer a terminal', async () => {
  const unsafe = 'a\u001b[31m\u009b31m\u202eb\u2066c\u200f\u061c\u2028d\ufeff';
  const account = await createAccount();
  const { code } = await createLink(account, { title: unsafe });
  const steering = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u;
  await run('links', 'show', code);
  expect(out.join('')).toContain('a\\u001b[31m\\u009b31m\\u202eb');
  expect(out.join('')).not.toMatch(steering);
  expect((await json('links', 'show', code)).title).toBe(unsafe);
  expect(out.join('')).not.toMatch(steering);
  for (const args of [
    ['accounts', 'show', unsafe],
    ['links', 'show', unsafe],
    [unsafe],
    ['accounts', 'create', '--name', 'x', '--plan', unsafe],
    ['accounts', 'list', '--database', `x${unsafe}`],
  ]) {
    expect(await run(...args)).toBeGreaterThan(0);
    expect(err.join('')).not.toBe('');
    for (const line of err.flatMap((text) => text.split('\n'))) expect(line).not.toMatch(steering);
  }
});

describe('help', () => {
  const helpOf = async (...args: string[]) => {
    expect(await run(...args, '--help')).toBe(0);
    return out.join('\n');
  };
  const commands = [
    'start',
    ...['create', 'list', 'show', 'update', 'disable', 'enable'].map((verb) => `accounts ${verb}`),
    ...['create', 'list', 'rotate', 'revoke'].map((verb) => `keys ${verb}`),
    ...['add', 'list', 'remove'].map((verb) => `domains ${verb}`),
    ...['list', 'show', 'enable', 'disable', 'update', 'export', 'import'].map(
      (verb) => `links ${verb}`,
    ),
    'migrate',
    'backup',
    'doctor',
  ];

  test('of a command of a group, asked for with the word help', async () => {
    const help = await helpOf('keys', 'rotate');
    expect(help).toContain('--grace');
    expect(await run('help', 'keys', 'rotate')).toBe(0);
    expect(out.join('\n')).toBe(help);
  });

  test('of the program: commands in groups, and every setting', async () => {
    const help = await helpOf();
    for (const group of ['Serving:', 'Accounts, keys, domains and links:', 'The database:']) {
      expect(help).toContain(group);
    }
    for (const { option } of Object.values(SETTINGS)) expect(help).toContain(option.envVar);
    expect(help).toContain('_FILE');
    for (const line of help.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  test.each(commands)(
    'of %s: an example, what is required, and at most 80 columns',
    async (command) => {
      const help = await helpOf(...command.split(' '));
      expect(help).toContain(`Examples:\n  $ shortlink-server ${command}`);
      for (const line of help.split('\n')) {
        expect(line.length, line).toBeLessThanOrEqual(80);
      }
      if (command !== 'start') expect(help).toMatch(/--database <url>[\s\S]*--json/);
    },
  );

  test.each([
    ['accounts create', ['--name', '--plan']],
    ['keys create', ['--account']],
    ['keys list', ['--account']],
    ['domains add', ['--account']],
    ['links list', ['--account']],
  ])('of %s: %j are marked as required', async (command, options) => {
    const help = (await helpOf(...command.split(' '))).replace(/\s+/g, ' ');
    for (const option of options) {
      expect(help).toMatch(new RegExp(`${option} <[^-]*\\(required\\)`));
    }
  });
});

describe('domains', () => {
  test('add prints id and the normalised hostname; list shows it', async () => {
    const account = await createAccount();
    const domain = await json('domains', 'add', 'GO.Bücher.example.', '--account', account.id);
    expect(domain).toEqual({
      id: expect.stringMatching(/^dom_/),
      hostname: 'go.xn--bcher-kva.example',
    });
    expect(await json('domains', 'list')).toEqual([{ ...domain, account_id: account.id }]);
  });

  test('a taken hostname, the own one and an unknown account are exit 1', async () => {
    const [first, second] = [await createAccount(), await createAccount()];
    await json('domains', 'add', 'go.example', '--account', first.id);
    for (const { id } of [first, second]) {
      expect(await run('domains', 'add', 'GO.example', '--account', id)).toBe(1);
      expect(err).toEqual([`error: domain go.example is taken: account ${first.id} has it`]);
    }
    const own = ['--public-url', 'https://sho.rt', '--account', first.id];
    expect(await run('domains', 'add', 'sho.rt', ...own)).toBe(1);
    expect(err.join()).toMatch(/own domain \(its public URL\)/);
    expect(await run('domains', 'add', 'to.example', '--account', 'acc_none')).toBe(1);
    expect(await json('domains', 'list')).toHaveLength(1);
  });
});

test.each(['*.x.com', 'a,b', '.x.com', 'a:0', 'https://x.com', 'x.com/path'])(
  '%s can not be added as a domain, and one line says what can',
  async (host) => {
    const { id } = await createAccount();
    expect(await run('domains', 'add', host, '--account', id)).not.toBe(0);
    expect(err.join('')).toMatch(
      /Expected a host name without scheme or path, such as go\.example\.com, or an IP address, with a port from 1 to 65535 if it has one\./,
    );
    expect(await json('domains', 'list')).toEqual([]);
  },
);

test.each([
  [{ SHORTLINK_PUBLIC_URL: 'https://sho.rt' }, ['sho.rt', 'SHO.rt.', 'sho.rt:443']],
  // The variable may be set for the server and not for this command: then the address that the server has by default.
  [{}, ['127.0.0.1:8787', '[::ffff:127.0.0.1]:8787', '[::ffff:7f00:1]:8787']],
  [{ SHORTLINK_HOST: '0.0.0.0', SHORTLINK_PORT: '80' }, ['localhost', 'localhost:80']],
  [{ SHORTLINK_PUBLIC_URL: 'http://192.0.2.1' }, ['[::ffff:192.0.2.1]', '[::ffff:c000:201]:443']],
])('with %j, none of %j can be added', async (env, hosts) => {
  const account = await createAccount();
  for (const host of hosts) {
    expect(await runIn(env, 'domains', 'add', host, '--account', account.id), host).toBe(1);
    expect(err.join()).toMatch(/own domain/);
  }
  expect(await json('domains', 'list')).toEqual([]);
});

test('domains are removed at once without links, and by force with some', async () => {
  const account = await createAccount();
  const add = () => json('domains', 'add', 'go.example', '--account', account.id);
  const { id } = await add();
  expect(await json('domains', 'remove', 'GO.example')).toEqual({
    id,
    hostname: 'go.example',
    removed: true,
  });
  expect(await run('domains', 'remove', 'go.example')).toBe(1);
  expect(err.join()).toMatch(/not found/);
  expect((await add()).id).toBe(id);
  await createLink(account, { domain_id: id });
  expect(await run('domains', 'remove', 'go.example')).toBe(1);
  expect(err.join()).toMatch(/has 1 link, which would stop redirecting; --force/);
  expect(await json('domains', 'list')).toHaveLength(1);
  const moved = { ...newLink(1), id: uuidOf(START), is_active: true, click_count: 0 };
  const aliases = ['/a', '/b'].map((path) => ({ domain_id: id, path }));
  const links = [{ ...moved, created_at: START, aliases }];
  await store.importLinks({ accountId: account.id, links });
  expect(await run('domains', 'remove', 'go.example')).toBe(1);
  expect(err.join()).toMatch(/has 1 link and 2 addresses of moved links, which would stop/);
  const used = { links: 1, addresses: 2 };
  expect(await json('domains', 'remove', 'go.example', '--force')).toMatchObject(used);
  expect(err).toContain(
    '1 link and 2 addresses of moved links will respond with 410 until go.example is added again',
  );
  expect(await json('domains', 'list')).toEqual([]);
  expect(await add()).toEqual({ id, hostname: 'go.example', ...used });
  expect(err).toContain('1 link and 2 addresses of moved links can be followed again');
});

/** Creates a link of an account. */
async function createLink({ id: accountId, limits }: Account, fields: Partial<NewLink> = {}) {
  const outcome = await store.createLink({
    caller: { keyId: 'key_none', accountId, permissions: ['shortlinks:write'], limits },
    input: {
      target_url: TARGET,
      title: '',
      redirect_type: 302,
      tags: [],
      domain_id: null,
      ...fields,
    },
    now: START,
  });
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.value;
}

describe('links', () => {
  test('list prints links, newest first, and says how to list the next ones', async () => {
    const account = await createAccount();
    const links = [];
    for (let n = 0; n < 3; n += 1) links.unshift(await createLink(account, { title: `n ${n}` }));
    const list = ['links', 'list', '--account', account.id];
    expect(await json(...list)).toEqual(links);
    expect(err).toEqual([]);
    expect(await json(...list, '--limit', '2')).toEqual(links.slice(0, 2));
    expect(err).toEqual([`there may be more links: add --cursor ${links[1]?.id}`]);
    const rest = await json(...list, '--limit', '2', '--cursor', links[1]?.id ?? '');
    expect(rest).toEqual(links.slice(2));
    expect(await json(...list, '--query', 'N 1')).toEqual([links[1]]);
    await run(...list);
    expect(out).toHaveLength(4);
    expect(out[0]).toMatch(/^code +active +clicks/);
    expect(await run('links', 'list', '--account', 'acc_none')).toBe(1);
  });

  test('a table is bounded, and JSON is not', async () => {
    const account = await createAccount();
    const target_url = `https://example.com/${'x'.repeat(2_000)}`;
    await createLink(account, { target_url, title: 't'.repeat(255) });
    await run('links', 'list', '--account', account.id);
    expect(out[1]?.length).toBeLessThan(300);
    expect(await json('links', 'list', '--account', account.id)).toMatchObject([{ target_url }]);
    await createLink(account, { title: 't'.repeat(80) });
    await run('links', 'list', '--account', account.id);
    expect(out.join('\n')).toMatch(/ t{80}\n.* t{79}…/);
  });

  test('show, disable and enable print the link', async () => {
    const link = await createLink(await createAccount(), { title: 'x\u001b[31m' });
    const { code } = link;
    const shown = { ...link, aliases: [], corrections: [] };
    expect(await json('links', 'show', code)).toEqual(shown);
    expect(await json('links', 'disable', code)).toEqual({ ...link, is_active: false });
    expect(await json('links', 'enable', code)).toEqual(link);
    expect(err.join('\n')).not.toContain('410');
    await run('links', 'show', code);
    expect(out.join('\n')).toContain(TARGET);
    expect(out.join('\n')).not.toContain('\u001b');
  });

  test('update corrects a link; show says what was before, and who changed it', async () => {
    const { code, ...link } = await createLink(await createAccount());
    const update = (...args: string[]) => run('links', 'update', code, ...args);
    const [b, c] = ['https://example.com/b', 'https://example.com/c'];
    expect(await json('links', 'update', code, '--target', b, '--by', 'Ann')).toEqual({
      ...{ ...link, code, target_url: b },
    });
    expect(await update('--target', b)).toBe(0);
    expect(err).toEqual(['nothing changed: the link is like that already']);
    expect(await update('--target', c, '--if-target', TARGET)).toBe(1);
    expect(err).toEqual([`error: link ${code} leads to ${b} now; it was not changed`]);
    expect(await update('--target', c, '--if-target', b, '--title', 'New')).toBe(0);
    const { corrections } = await json('links', 'show', code);
    const at = new Date(START).toISOString();
    expect(corrections).toEqual([
      { at, by: 'Ann', old_target: TARGET, new_target: b },
      { at, by: expect.any(String), old_target: b, new_target: c, old_title: '', new_title: 'New' },
    ]);
    await run('links', 'show', code);
    expect(out.join('\n')).toContain(`by Ann: ${TARGET} -> ${b}`);
    expect(out.join('\n')).toContain(`${b} -> ${c} title "" -> "New"`);
  });

  describe('update --from', () => {
    const target = (n: number) => `https://example.com/new/${n}`;

    /** A file that corrects so many of ten links, and what there is of it. */
    async function setUp(corrected: number) {
      const account = await createAccount();
      const codes: string[] = [];
      for (let n = 0; n < 10; n += 1) codes.push((await createLink(account)).code);
      const rows = codes.slice(0, corrected).map((code, n) => `${code},${target(n)},`);
      const folder = await mkdtemp(join(tmpdir(), 'corrections-'));
      const file = join(folder, 'c.csv');
      await writeFile(file, `${['code,target_url,if_target', ...rows].join('\n')}\n`);
      onTestFinished(() => rm(folder, { recursive: true }));
      const now = async () => {
        const links = await json('links', 'list', '--account', account.id);
        return links.filter((link: Link) => link.target_url !== TARGET).length;
      };
      return { file, codes, now, account };
    }

    test('corrects many at once; a dry run lists them; the same again changes nothing', async () => {
      const { file, codes, now } = await setUp(3);
      const rows = codes.slice(0, 3).map((code, n) => {
        return { code, old_target: TARGET, new_target: target(n) };
      });
      expect(await json('links', 'update', '--from', file, '--dry-run')).toEqual(rows);
      expect(await now()).toBe(0);
      expect(await json('links', 'update', '--from', file)).toEqual(rows);
      expect(await now()).toBe(3);
      expect(await json('links', 'update', '--from', file)).toEqual([]);
    });

    test('refuses to change more than 30 % of the links of an account without --yes', async () => {
      const { file, now } = await setUp(4);
      expect(await run('links', 'update', '--from', file)).toBe(1);
      expect(err.join()).toMatch(
        /4 of the 10 links of account acc_\w+; nothing was changed.*--yes/,
      );
      expect(await json('links', 'update', '--from', file, '--dry-run')).toHaveLength(4);
      expect(await now()).toBe(0);
      expect(await run('links', 'update', '--from', file, '--yes')).toBe(0);
      expect(await now()).toBe(4);
    });

    test('refuses so for any account of the links, and more than 100 links of one', async () => {
      const { file } = await setUp(0);
      const accounts = [await createAccount(), await createAccount()];
      const lines = ['code,target_url'];
      for (const [at, account] of accounts.toSorted((a, b) => (a.id < b.id ? -1 : 1)).entries()) {
        const codes: string[] = [];
        for (let n = 0; n < 4; n += 1) codes.push((await createLink(account)).code);
        lines.push(...codes.slice(0, at + 1).map((code, n) => `${code},${target(n)}`));
      }
      await writeFile(file, lines.join('\n'));
      expect(await run('links', 'update', '--from', file)).toBe(1);
      expect(err.join()).toContain('2 of the 4 links');

      const account = await createAccount();
      const many: string[] = [];
      for (let n = 0; n < 400; n += 1) many.push((await createLink(account)).code);
      const rows = many.map((code, n) => `${code},${target(n)}\n`);
      await writeFile(file, ['code,target_url\n', ...rows.slice(0, 101)].join(''));
      expect(await run('links', 'update', '--from', file)).toBe(1);
      expect(err.join()).toContain('101 of the 400 links');
      await writeFile(file, ['code,target_url\n', ...rows.slice(0, 100)].join(''));
      expect(await run('links', 'update', '--from', file)).toBe(0);
    });

    test.each([1, 3])(
      'a file of %i that was killed is run again, also with if_target',
      async (n) => {
        const { file, codes, now } = await setUp(n);
        const rows = codes.slice(0, n).map((code, at) => `${code},${target(at)},${TARGET}`);
        await writeFile(file, `${['code,target_url,if_target', ...rows].join('\n')}\n`);
        expect(await run('links', 'update', codes[0] ?? '', '--target', target(0))).toBe(0);
        const left = codes.slice(1, n).map((code) => expect.objectContaining({ code }));
        expect(await json('links', 'update', '--from', file)).toEqual(left);
        expect(err).toEqual(['already right: 1 of the links']);
        expect(await now()).toBe(n);
        expect(await json('links', 'update', '--from', file)).toEqual([]);
        expect(err).toEqual([`already right: ${n} of the links`]);
      },
    );

    test('refuses two corrections of one link, since the order of a file decides nothing', async () => {
      const { file, codes, now } = await setUp(1);
      await appendFile(file, `${codes[0]},${target(1)},\n`);
      expect(await run('links', 'update', '--from', file)).toBe(1);
      expect(err).toEqual([`error: c.csv, line 3: link ${codes[0]} is corrected twice`]);
      expect(await now()).toBe(0);
    });

    test('says all that is wrong with a file, and where', async () => {
      const { file, codes, now } = await setUp(1);
      const bad = [
        ...[`nope,${target(1)},`, `${codes[2]},javascript:1,`, `,${target(1)},`],
        `${codes[3]},${target(3)}?ids=1,,2`,
      ];
      await appendFile(file, `${bad.join('\n')}\n`);
      expect(await run('links', 'update', '--from', file)).toBe(1);
      expect(err).toEqual([
        'c.csv, line 3: link "nope" not found',
        `c.csv, line 4: link ${codes[2]}: target_url must be an absolute http or https URL`,
        'c.csv, line 5: link "" not found',
        'c.csv, line 6: it has more cells than there are columns',
        "error: 4 of the corrections can't be made; nothing was changed",
      ]);
      expect(await now()).toBe(0);
    });

    test('keeps a title that somebody else gives a link meanwhile, where the file has no titles', async () => {
      const { file, codes, now } = await setUp(2);
      const { updateLinks } = store;
      const [code = ''] = codes;
      store.updateLinks = async (input) => {
        await updateLinks([{ code, title: 'Theirs', by: 'Ann', now: START }]);
        return updateLinks(input);
      };
      expect(await run('links', 'update', '--from', file, '--yes')).toBe(0);
      expect(await now()).toBe(2);
      expect(await json('links', 'show', code)).toMatchObject({ title: 'Theirs' });
    });

    test.each([1, 2])(
      'changes nothing where somebody else corrects %i of the links meanwhile',
      async (count) => {
        const { file, codes, now } = await setUp(4);
        const { updateLinks } = store;
        const target_url = 'https://example.com/theirs';
        const some = codes.slice(0, count);
        store.updateLinks = async (input) => {
          await updateLinks(some.map((code) => ({ code, target_url, by: 'Ann', now: START })));
          return updateLinks(input);
        };
        expect(await run('links', 'update', '--from', file, '--yes')).toBe(1);
        const theirs = (code = '') => `link ${code} leads to ${target_url} now; it was not changed`;
        expect(err).toEqual([
          ...some.map(theirs),
          `error: ${count} of the 4 links were changed by somebody else meanwhile; nothing was changed`,
        ]);
        expect(await now()).toBe(count);
      },
    );

    test('of titles alone, named by their codes', async () => {
      const { file, codes } = await setUp(0);
      await writeFile(file, 'code,title\n');
      expect(await json('links', 'update', '--from', file)).toEqual([]);
      await writeFile(file, `code,title\n${codes[0]},Hello\n`);
      expect(await json('links', 'update', '--from', file)).toMatchObject([{ new_title: 'Hello' }]);
    });

    test('corrects titles alone, of links that are named by their short URLs', async () => {
      const { file, codes } = await setUp(1);
      await writeFile(file, `short_url,title\nhttps://sho.rt/${codes[0]},Right\n`);
      const [code] = codes;
      const row = {
        code,
        old_target: TARGET,
        new_target: TARGET,
        old_title: '',
        new_title: 'Right',
      };
      expect(
        await json(
          'links',
          'update',
          '--from',
          file,
          '--public-url',
          'https://sho.rt',
          '--dry-run',
        ),
      ).toEqual([row]);
      expect(
        await json('links', 'update', '--from', file, '--public-url', 'https://sho.rt'),
      ).toEqual([row]);
      expect(await json('links', 'show', code ?? '')).toMatchObject({ title: 'Right' });
    });

    test.each([
      ['--target', 'https://example.com/'],
      ['--title', 'x'],
      ['--if-target', TARGET],
    ])('%s beside --from is a usage error', async (option, value) => {
      const { file, now } = await setUp(1);
      expect(await run('links', 'update', '--from', file, option, value)).toBe(2);
      expect(err.join()).toContain(option);
      expect(await now()).toBe(0);
    });

    test.each([
      ['', /c\.csv/],
      ['\n', /c\.csv/],
      ['a,b\n1,2\n', /c\.csv/],
      ['code,other\nx,y\n', /c\.csv/],
      [undefined, /c\.csv can't be read/],
    ])('a file with %j is refused in one sentence', async (content, message) => {
      const { file } = await setUp(1);
      if (content === undefined) await rm(file);
      else await writeFile(file, content);
      expect(await run('links', 'update', '--from', file)).toBe(1);
      expect(err).toEqual([expect.stringMatching(/^error: [^\n]+$/)]);
      expect(err[0]).toMatch(message);
    });

    test.each([
      ['c.csv', 'code,target\nCODE,https://example.com/new\n', '2', 'target'],
      [
        'c.csv',
        'code,target_url,only_if_target\nCODE,https://example.com/new,x\n',
        '2',
        'onlyiftarget',
      ],
      ['c.jsonl', '{"code":"CODE","title":"a"}\n{"code":"b","target":"x"}\n', '2', 'target'],
    ])('a column of %s that it does not know is refused: %j', async (name, text, line, column) => {
      const { file, codes, now } = await setUp(0);
      const named = join(dirname(file), name);
      await writeFile(named, text.replace('CODE', codes[0] ?? ''));
      expect(await run('links', 'update', '--from', named, '--yes')).toBe(1);
      expect(err).toEqual([
        `error: ${name}, line ${line}: corrections have no column "${column}", only code or short_url, target_url, title, if_target, and those of an export`,
      ]);
      expect(await now()).toBe(0);
      expect(await json('links', 'show', codes[0] ?? '')).toMatchObject({ title: '' });
    });

    test.each([
      ['csv', []],
      ['jsonl', []],
      ['csv', ['--account']],
    ])('an export of ours as %s %j is right already', async (format, args) => {
      const { file, codes, account } = await setUp(0);
      await run('links', 'update', codes[0] ?? '', '--title', 'Hello');
      const of = args.length === 0 ? [] : [...args, account.id];
      const own = join(dirname(file), `own.${format}`);
      expect(await run('links', 'export', '--format', format, '-o', own, ...of)).toBe(0);
      expect(await json('links', 'update', '--from', own)).toEqual([]);
    });

    test('an empty title in JSON Lines clears it; an empty cell and a null leave it', async () => {
      const { file, codes } = await setUp(0);
      const [code = ''] = codes;
      const title = async (name: string, text: string) => {
        expect(await run('links', 'update', code, '--title', 'Hello')).toBe(0);
        const named = join(dirname(file), name);
        await writeFile(named, text);
        expect(await run('links', 'update', '--yes', '--from', named), err.join()).toBe(0);
        return (await json('links', 'show', code)).title;
      };
      const target_url = target(1);
      const line = (change: object) => `${JSON.stringify({ code, ...change })}\n`;
      expect(await title('a.csv', `code,title,target_url\n${code},,${target_url}\n`)).toBe('Hello');
      expect(await title('b.jsonl', line({ title: null, target_url }))).toBe('Hello');
      expect(await title('c.jsonl', line({ title: '' }))).toBe('');
    });

    test('of many bad rows, the first hundred are listed', async () => {
      const { file } = await setUp(1);
      await appendFile(file, 'zzzzzzz,https://example.com/,\n'.repeat(102));
      expect(await run('links', 'update', '--from', file)).toBe(1);
      expect(err).toHaveLength(101);
      expect(err.at(-1)).toContain("102 of the corrections can't be made");
    });

    test.each([
      ['zzzzzzz,https://example.com/,', /"zzzzzzz" not found/],
      ['CODE,ftp://example.com/,', /link CODE: target_url must be/],
      ['CODE,,', /nothing to change of link CODE/],
      ['CODE,https://example.com/,https://example.com/old', /leads to .* it was not changed/],
    ])('one bad row, such as %s, and none is changed', async (row, message) => {
      const { file, codes, now } = await setUp(2);
      const last = codes.at(-1) ?? '';
      await appendFile(file, `${row.replace('CODE', last)}\n`);
      expect(await run('links', 'update', '--from', file)).toBe(1);
      expect(err.join().replaceAll(last, 'CODE')).toMatch(message);
      expect(await now()).toBe(0);
    });
  });

  test.each([
    [['--target', 'https://sho.rt/x'], /own domains/],
    [['--target', 'ftp://example.com/'], /target_url must be an absolute/],
    [['--title', 'x'.repeat(256)], /title must be at most 255/],
  ])('update %j is refused, and nothing is changed', async (args, message) => {
    const { code } = await createLink(await createAccount());
    const settings = ['--public-url', 'https://sho.rt'];
    expect(await run('links', 'update', code, ...settings, ...args)).toBe(1);
    expect(err.join()).toMatch(message);
    const { aliases, corrections, ...link } = await json('links', 'show', code);
    expect([link.target_url, aliases, corrections]).toEqual([TARGET, [], []]);
  });

  test.each([
    { SHORTLINK_TARGET_ALLOW: 'allowed.example' },
    { SHORTLINK_TARGET_DENY: 'example.com' },
    { SHORTLINK_PUBLIC_URL: 'https://example.com' },
  ])('a title is corrected wherever its link leads, with %j', async (env) => {
    const { code } = await createLink(await createAccount());
    expect(await runIn(env, 'links', 'update', code, '--title', 'New'), err.join()).toBe(0);
    expect((await json('links', 'show', code)).title).toBe('New');
  });

  test('where no public URL is set, no link is led to an address that may be its own, or of another link', async () => {
    const account = await createAccount();
    const codes = [(await createLink(account)).code, (await createLink(account)).code];
    const update = (...args: string[]) => run('links', 'update', codes[0] ?? '', ...args);
    for (const code of codes) {
      const target = `https://sho.example:8443/${code}?x=1`;
      expect(await update('--target', target)).toBe(1);
      expect(err.join()).toMatch(/may lead back to this service.*SHORTLINK_PUBLIC_URL/);
      expect(await update('--target', target, '--public-url', 'https://sho.rt')).toBe(0);
    }
    expect(await update('--target', `https://sho.example/${codes[0]}/x`)).toBe(0);
  });

  test.each(['show', 'enable', 'disable'])('%s of an unknown code is exit 1', async (verb) => {
    expect(await run('links', verb, 'zzzzzzz')).toBe(1);
    expect(err).toEqual(['error: link "zzzzzzz" not found']);
  });
});

test('a key that was replaced is listed for as long as it is valid', async () => {
  const { id: account } = await createAccount();
  const create = () => json('keys', 'create', '--account', account);
  const [ended, valid] = [await create(), await create()];
  const next = await json('keys', 'rotate', ended.id);
  const other = await json('keys', 'rotate', valid.id, '--grace', '1h');
  const ids = async () => {
    const listed: { id: string }[] = await json('keys', 'list', '--account', account);
    return listed.map(({ id }) => id);
  };
  expect(await ids()).toEqual([valid.id, next.id, other.id]);
  // Its grace ends at this moment.
  const hash = hashApiKey('another');
  await store.rotateKey({ keyId: next.id, hash, graceMs: 1, now: START - 1 });
  expect(await ids()).not.toContain(next.id);
});

test('the table of keys says when each ends: a day, a time, or never, and what replaces it', async () => {
  const { id: account } = await createAccount();
  const create = (...args: string[]) => json('keys', 'create', '--account', account, ...args);
  await create();
  await create('--expires', '2027-01-31');
  await create('--expires', '2027-01-31T18:00:00Z');
  const { id } = await create();
  const next = await json('keys', 'rotate', id, '--grace', '1h');
  const { createKey } = store;
  const ended = { accountId: account, name: 'x', permissions: [], hash: hashApiKey('x'), now: 0 };
  await createKey({ ...ended, expiresAt: START });
  await run('keys', 'list', '--account', account);
  const lines = out.join('\n').split('\n').slice(1);
  expect(lines.map((line) => line.split('  never  ')[1]?.trim())).toEqual([
    'never',
    '2027-01-31',
    '2027-01-31T18:00:00.000Z',
    `${new Date(START + 3_600_000).toISOString()}, replaced by ${next.id}`,
    'never',
    `expired ${new Date(START).toISOString()}`,
  ]);
});

test('the account to try things out with is known by its name, beside older ones', async () => {
  await createAccount();
  const { id } = await json('accounts', 'create', '--name', 'dev', '--plan', 'pro');
  expect(await createDevAccount(store, START)).toEqual({ id, key: undefined });
});

test('a command closes the database that it opened, also when it fails', async () => {
  let closed = 0;
  store.close = async () => {
    closed += 1;
  };
  expect(await run('accounts', 'list')).toBe(0);
  expect(closed).toBe(1);
  expect(await run('accounts', 'show', 'acc_none')).toBe(1);
  expect(closed).toBe(2);
  // A look at the database opens none that could be written to.
  facts = { version: 1, newest: 1 };
  expect(await run('doctor')).toBe(1);
  expect(closed).toBe(2);
});

test('migrate prints the versions of the schema before and after', async () => {
  expect(await json('migrate')).toEqual({ from: 0, to: 1 });
});

test('start gets its settings', async () => {
  expect(await run('start', '--port', '0', '--database', 'sqlite::memory:', '--dev')).toBe(0);
  const [settings, options] = started[0] ?? [];
  expect(settings).toMatchObject({ port: 0, database: { path: ':memory:' } });
  expect(options).toEqual({ dev: true });
  const variables = { SHORTLINK_PORT: '1234', SHORTLINK_HOST: '::1' };
  expect(await runIn(variables, 'start', '--host', 'localhost')).toBe(0);
  expect(started.at(-1)?.[0]).toMatchObject({ port: 1234, host: 'localhost' });
});

test.each([
  ['EADDRINUSE', 'Another program listens there'],
  ['EACCES', 'Ports below 1024 need a right'],
  ['EADDRNOTAVAIL', 'This machine has no such address'],
  ['ENOTFOUND', 'This machine has no such address'],
])('a start that ends with %s is exit 1, and says what to do', async (code, hint) => {
  startFailure = Object.assign(new Error(`listen ${code}`), { code, syscall: 'listen' });
  expect(await run('start')).toBe(1);
  expect(err).toEqual([`error: listen ${code}`, expect.stringContaining(hint)]);
});

test('--dev makes an account without limits on an empty database only', async () => {
  const { id, key } = await createDevAccount(store, START);
  const [account] = await store.listAccounts();
  expect(account).toMatchObject({ name: 'dev', plan: 'custom' });
  expect(new Set(Object.values(account?.limits ?? {}))).toEqual(new Set([null]));
  expect(await store.findKeyByHash(hashApiKey(key ?? ''))).toMatchObject({
    accountId: account?.id,
  });
  expect(account?.id).toBe(id);
  expect(await createDevAccount(store, START)).toEqual({ id, key: undefined });
  expect(await store.listAccounts()).toHaveLength(1);
});

test('backup gets the database and the file, and prints the file', async () => {
  expect(await json('backup', '/backups/today.db', '--database', 'sqlite:x.db')).toEqual({
    file: '/backups/today.db',
  });
  expect(backups).toMatchObject([[{ database: { path: 'x.db' } }, '/backups/today.db']]);
  expect(await run('backup')).toBe(2);
});

test('a key whose successor was revoked is rotated no more, and the message says what to do', async () => {
  const { id: account } = await createAccount();
  const { id } = await json('keys', 'create', '--account', account);
  const successor = await json('keys', 'rotate', id, '--grace', '1h');
  await json('keys', 'revoke', successor.id);
  expect(await run('keys', 'rotate', id)).toBe(1);
  expect(err).toEqual([expect.stringContaining('use keys create if it is gone')]);
});

test('what can not be written is a failure, above all a key that is shown once', async () => {
  const { id } = await createAccount();
  const fields = { code: 'ENOSPC', syscall: 'write' };
  outputError = Object.assign(new Error('ENOSPC: no space left on device, write'), fields);
  for (const format of [[], ['--json']]) {
    expect(await run('keys', 'create', '--account', id, ...format)).toBe(1);
    expect(err).toEqual(['error: ENOSPC: no space left on device, write']);
  }
});

test('revoke says whose key it was, and tells an unknown key from one that was revoked before', async () => {
  const { id: account } = await createAccount('pro');
  const { id } = await json('keys', 'create', '--account', account, '--name', 'ci');
  expect(await json('keys', 'revoke', id)).toEqual({
    id,
    revoked: true,
    account_id: account,
    account: 'Acme',
    name: 'ci',
  });
  expect(await run('keys', 'revoke', id)).toBe(1);
  expect(err).toEqual([
    `error: key ${id} (ci) of the account ${account} (Acme) was revoked before, at 2026-11-20T10:20:30.500Z`,
  ]);
  expect(await run('keys', 'revoke', 'key_none')).toBe(1);
  expect(err).toEqual(['error: key "key_none" not found']);
});

test.each(['revoke', 'rotate'])(
  '%s takes a key that leaked, and repeats it nowhere',
  async (verb) => {
    const { id: account } = await createAccount('pro');
    const { id, key } = await json('keys', 'create', '--account', account);
    expect(await json('keys', verb, key)).toMatchObject(
      verb === 'revoke' ? { id, revoked: true } : { replaces: id },
    );
    await json('keys', 'list', '--account', account);
    if (verb === 'rotate') await json('keys', 'revoke', id);
    for (const pasted of [key, ` ${key}`, `X-Api-Key: ${key}`]) {
      expect(await run('keys', verb, pasted)).toBe(1);
      expect(err).toEqual(['error: there is no such key, or it was revoked before']);
    }
  },
);

describe('doctor', () => {
  const good: DatabaseFacts = { version: 9, newest: 9, disk: { used: 5e9, free: 50e9 } };
  const postgres = {
    version: 9,
    newest: 9,
    isPooled: true,
    clockAheadMs: -3,
    connections: { most: 97, used: 12 },
  };

  async function todos(found: DatabaseFacts, ...args: string[]): Promise<Record<string, string>> {
    facts = found;
    const code = await run('doctor', ...args, '--json');
    // The failure prints nothing more.
    expect(out).toHaveLength(1);
    const rows: { check: string; todo: string }[] = JSON.parse(out[0] ?? '');
    const open = rows.filter(({ todo }) => todo !== 'nothing');
    expect(code).toBe(open.length > 0 ? 1 : 0);
    return Object.fromEntries(open.map(({ check, todo }) => [check, todo]));
  }

  test('finds nothing to do where all is well', async () => {
    await using server = await startTestServer();
    expect(await todos(good, '--public-url', server.url)).toEqual({});
    expect(await todos(postgres, '--public-url', server.url)).toEqual({});
    await run('doctor', '--public-url', server.url);
    expect(out[0]).toMatch(/^database +\S/);
    expect(out.join('\n')).toMatch(/in between; time limits hold/);
    expect(out.join('\n')).toMatch(/clock +3 ms ahead of the database$/m);
    expect(out.join('\n')).toMatch(/12 of 97 in use; an instance has 15 at most, so that 6 fit/);
    // Each worker has two connections at least.
    await runIn({ SHORTLINK_WORKERS: '16' }, 'doctor');
    expect(out.join('\n')).toMatch(/has 32 at most, so that 3 fit/);
  });

  test.each([
    [{ ...good, version: 8 }, 'schema', /shortlink-server migrate/],
    [{ ...good, disk: { used: 5e9, free: 5.5e9 } }, 'disk', /make space/],
    [{ ...postgres, clockAheadMs: 2_000 }, 'clock', /NTP/],
    [{ ...postgres, clockAheadMs: -2_000 }, 'clock', /NTP/],
    [
      { ...postgres, connections: { most: 50, used: 1 } },
      'connections',
      /lower SHORTLINK_DATABASE_C/,
    ],
    [
      { ...postgres, connections: { most: 97, used: 1, writable: false } },
      'rights',
      /own the database and its tables/,
    ],
  ])('of %j: says what to do about %s', async (found, check, todo) => {
    expect(await todos(found)).toMatchObject({ [check]: expect.stringMatching(todo) });
  });

  test('says in a narrow terminal all that should be done', async () => {
    facts = good;
    columns = 60;
    expect(await run('doctor')).toBe(1);
    const todo = 'To do: set SHORTLINK_PUBLIC_URL: nobody else can follow such short URLs';
    expect(out.join('\n')).toContain(`http://127.0.0.1:8787. ${todo}`);
  });

  test.each([
    { ...good, disk: { used: 5e9, free: 6e9 } },
    { ...postgres, clockAheadMs: 1_000 },
    { ...postgres, connections: { most: 60, used: 1 } },
  ])('of %j: asks for nothing', async (found) => {
    expect(Object.keys(await todos(found))).toEqual(['public URL']);
  });

  test('finds a public URL whose host is a custom domain, too', async () => {
    const domains = [{ id: 'dom_1', hostname: 'go.example', account_id: 'acc_1' }];
    const todo = { 'public host': expect.stringMatching(/SHORTLINK_PUBLIC_URL to a host of its/) };
    const found = { ...good, domains };
    expect(await todos(found, '--public-url', 'https://go.example')).toMatchObject(todo);
    expect(await todos(found, '--public-url', 'https://sho.rt')).not.toMatchObject(todo);
  });

  test('asks a proxy for what it lets through, which is not the health check', async () => {
    await using server = await startTestServer();
    const proxy = createServer(async ({ url = '' }, response) => {
      const isHidden = /^\/(?:healthz|readyz|metrics|internal)/.test(url);
      const answer = isHidden ? undefined : await fetch(server.url + url);
      response.writeHead(answer?.status ?? 404, Object.fromEntries(answer?.headers ?? []));
      response.end(await answer?.text());
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    expect(await todos(good, '--public-url', `http://127.0.0.1:${portOf(proxy)}`)).toEqual({});
    proxy.close();
  });

  test('says what to do about the public URL, and about a database that is not there', async () => {
    expect(await todos(good)).toEqual({
      'public URL': expect.stringMatching(/SHORTLINK_PUBLIC_URL/),
    });
    const away = await todos(good, '--public-url', 'http://127.0.0.1:1');
    expect(away).toEqual({ 'public URL': expect.stringMatching(/DNS, certificate and proxy/) });
    // One that is sick, a website at the same address, and one that sends everybody elsewhere.
    const responses: [status: number, headers: OutgoingHttpHeaders][] = [
      [503, { 'X-Request-Id': 'x' }],
      [200, {}],
      [401, {}],
      [302, { Location: '/elsewhere' }],
    ];
    const other = createServer(({ url }, response) => {
      if (url === '/elsewhere') responses.unshift([401, { 'X-Request-Id': 'x' }]);
      response.writeHead(...(responses.shift() ?? [404, {}])).end();
    }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    while (responses.length > 0)
      expect(await todos(good, '--public-url', `http://127.0.0.1:${portOf(other)}`)).toEqual(away);
    other.close();
  });
});
