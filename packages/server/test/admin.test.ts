import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CommandContext } from '../src/admin/command.ts';
import { runProgram } from '../src/admin/program.ts';
import { createDevAccount } from '../src/admin/start.ts';
import { hashApiKey } from '../src/api-key.ts';
import type { Settings } from '../src/settings.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import type { Store } from '../src/store/store.ts';
import { START, TARGET } from './fixture.ts';

let store: Store;
let closeStore: () => Promise<void>;
let out: string[];
let err: string[];
let started: [Settings, { dev: boolean }][];
let backups: [Settings, string][];

beforeEach(async () => {
  store = await openSqliteStore({ path: ':memory:', publicUrl: 'https://sho.rt' });
  // Commands close what they opened; the test's database has to outlive them.
  closeStore = store.close.bind(store);
  store.close = async () => undefined;
  started = [];
  backups = [];
});
afterEach(() => closeStore());

async function run(...args: string[]): Promise<number> {
  out = [];
  err = [];
  const context: CommandContext = {
    env: {},
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    now: () => START,
    openStore: async () => store,
    migrate: async () => ({ from: 0, to: 1 }),
    backup: async (settings, file) => {
      backups.push([settings, file]);
    },
    start: async (settings, options) => {
      started.push([settings, options]);
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
    const names = ['rpm=600', 'rpd=unlimited', 'rpmonth=7', 'links=8', 'keys=9', 'batch=unlimited'];
    const account = await createAccount('custom', ...names.flatMap((limit) => ['--limit', limit]));
    expect(account.limits).toEqual({
      requests_per_minute: 600,
      requests_per_day: null,
      requests_per_month: 7,
      links: 8,
      api_keys: 9,
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

  test('for people, one field per line and columns', async () => {
    const { id } = await createAccount('pro');
    await run('accounts', 'show', id);
    expect(out.slice(0, 3)).toEqual([`id      ${id}`, 'name    Acme', 'plan    pro']);
    await run('accounts', 'list');
    expect(out).toHaveLength(2);
    expect(out[0]).toMatch(/^id +name +plan +limits$/);
  });
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
    [['keys', 'create', '--account', 'x', '--permission', 'admin'], /shortlinks:write/],
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

test('help and version are exit 0', async () => {
  expect(await run('--version')).toBe(0);
  expect(out).toEqual(['1.2.3']);
  expect(await run('accounts', 'create', '--help')).toBe(0);
  expect(out.join('\n')).toContain('--limit');
});

describe('keys', () => {
  test('create prints the key once; only its hash is kept', async () => {
    const account = await createAccount();
    const key = await json('keys', 'create', '--account', account.id, '--name', 'ci');
    expect(key).toEqual({
      id: expect.stringMatching(/^key_/),
      account_id: account.id,
      name: 'ci',
      permissions: ['shortlinks:write'],
      key: expect.stringMatching(/^sl_[0-9A-Za-z]{36}$/),
    });
    expect(await store.findKeyByHash(hashApiKey(key.key))).toMatchObject({ keyId: key.id });
    const { key: _secret, ...shown } = key;
    expect(await json('keys', 'list', '--account', account.id)).toEqual([shown]);
  });

  test('permissions are those asked for, each once', async () => {
    const account = await createAccount();
    const flags = ['analytics:read', 'shortlinks:write', 'analytics:read'].flatMap((permission) => [
      '--permission',
      permission,
    ]);
    const { permissions } = await json('keys', 'create', '--account', account.id, ...flags);
    expect(permissions).toEqual(['analytics:read', 'shortlinks:write']);
    const reader = await json('keys', 'create', '--account', account.id, ...flags.slice(0, 2));
    expect(reader.permissions).toEqual(['analytics:read']);
  });

  test('beyond the plan is exit 1 with used and allowed; a revoked key makes room', async () => {
    const account = await createAccount('community');
    const { id } = await json('keys', 'create', '--account', account.id);
    expect(await run('keys', 'create', '--account', account.id)).toBe(1);
    expect(err.join()).toMatch(/1 used, 1 allowed.*Upgrade/);
    expect(out).toEqual([]);
    expect(await json('keys', 'revoke', id)).toEqual({ id, revoked: true });
    expect(await run('keys', 'revoke', id)).toBe(1);
    expect(await run('keys', 'create', '--account', account.id)).toBe(0);
  });

  test('an unknown account or key is exit 1', async () => {
    expect(await run('keys', 'create', '--account', 'acc_none')).toBe(1);
    expect(await run('keys', 'list', '--account', 'acc_none')).toBe(1);
    expect(await run('keys', 'revoke', 'key_none')).toBe(1);
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
    expect(await run('domains', 'add', 'GO.example', '--account', second.id)).toBe(1);
    expect(err.join()).toMatch(/taken/);
    const own = ['--public-url', 'https://sho.rt', '--account', first.id];
    expect(await run('domains', 'add', 'sho.rt', ...own)).toBe(1);
    expect(err.join()).toMatch(/own domain/);
    expect(await run('domains', 'add', 'to.example', '--account', 'acc_none')).toBe(1);
    expect(await json('domains', 'list')).toHaveLength(1);
  });
});

describe('links', () => {
  test('show, disable and enable print the link', async () => {
    const { id: accountId, plan, limits } = await createAccount();
    const { id: keyId } = await json('keys', 'create', '--account', accountId);
    const outcome = await store.createLink({
      caller: { keyId, accountId, permissions: ['shortlinks:write'], plan, limits },
      input: {
        target_url: TARGET,
        title: 'x\u001b[31m',
        redirect_type: 302,
        tags: [],
        domain_id: null,
      },
      now: START,
    });
    const link = outcome.ok ? outcome.value : undefined;
    const code = link?.code ?? '';
    expect(await json('links', 'show', code)).toEqual(link);
    expect(await json('links', 'disable', code)).toEqual({ ...link, is_active: false });
    expect(await json('links', 'enable', code)).toEqual(link);
    await run('links', 'show', code);
    expect(out.join('\n')).toContain(TARGET);
    expect(out.join('\n')).not.toContain('\u001b');
  });

  test.each(['show', 'enable', 'disable'])('%s of an unknown code is exit 1', async (verb) => {
    expect(await run('links', verb, 'zzzzzzz')).toBe(1);
    expect(err).toEqual(['error: link "zzzzzzz" not found']);
  });
});

test('migrate prints the versions of the schema before and after', async () => {
  expect(await json('migrate')).toEqual({ from: 0, to: 1 });
});

test('start hands on its settings', async () => {
  expect(await run('start', '--port', '0', '--database', 'sqlite::memory:', '--dev')).toBe(0);
  const [settings, options] = started[0] ?? [];
  expect(settings).toMatchObject({ port: 0, database: { path: ':memory:' } });
  expect(options).toEqual({ dev: true });
});

test('--dev makes an account without limits on an empty database only', async () => {
  const key = await createDevAccount(store, START);
  const [account] = await store.listAccounts();
  expect(account).toMatchObject({ name: 'dev', plan: 'custom' });
  expect(new Set(Object.values(account?.limits ?? {}))).toEqual(new Set([null]));
  expect(await store.findKeyByHash(hashApiKey(key ?? ''))).toMatchObject({
    accountId: account?.id,
  });
  expect(await createDevAccount(store, START)).toBeUndefined();
  expect(await store.listAccounts()).toHaveLength(1);
});

test('backup hands the database and the file on, and prints the file', async () => {
  expect(await json('backup', '/backups/today.db', '--database', 'sqlite:x.db')).toEqual({
    file: '/backups/today.db',
  });
  expect(backups).toMatchObject([[{ database: { path: 'x.db' } }, '/backups/today.db']]);
  expect(await run('backup')).toBe(2);
});
