import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import type { PlanLimits } from '@shortlink/sdk/wire';
import { expect, onTestFinished, test } from 'vitest';
import { createKey } from '../src/admin/keys.ts';
import { Database } from '../src/store/sqlite/database.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import { post, type ServerProcess, useProcesses } from './server-process.ts';

const { run, start, folder } = useProcesses();

const TARGET = { target_url: 'https://example.com/' };

/** On sixteen connections or more, which the processes share. */
async function many<T>(count: number, act: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  const next = async () => {
    while (results.length < count) results.push(await act());
  };
  await Promise.all(Array.from({ length: 16 }, next));
  return results;
}

const follow = (server: ServerProcess, code: string) =>
  fetch(`${server.url}/${code}`, { redirect: 'manual', headers: { Connection: 'close' } });

const metric = async ({ url }: ServerProcess, name: string) => {
  const text = await (await fetch(`${url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name} `));
  expect(lines).toHaveLength(1);
  return Number(lines[0]?.slice(name.length));
};

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The processes that serve, as the log names them. */
const workersOf = ({ log }: ServerProcess) =>
  [...log().matchAll(/"worker":(\d+),"pid":(\d+),"msg":"worker serves"/g)].map(
    ([, number, pid]) => ({ number: Number(number), pid: Number(pid) }),
  );

async function json(args: string[]) {
  const { child, ended } = run([...args, '--json']);
  let out = '';
  for await (const chunk of child.stdout) out += chunk;
  expect((await ended).code).toBe(0);
  return JSON.parse(out);
}

/** An account on a server's database with these limits, made as an operator does, and its key. */
async function accountWith(limits: Partial<PlanLimits>) {
  const store = await openStore();
  const { id } = await store.createAccount({ name: 'x', plan: 'custom', limits, now: Date.now() });
  const permissions = ['shortlinks:write'] as const;
  const input = { accountId: id, name: 'x', permissions: [...permissions], now: Date.now() };
  const { key } = await createKey(store, input);
  return { id, key, store };
}

async function openStore() {
  const path = join(folder(), 'x.db');
  const store = await openSqliteStore({ path, publicUrl: 'https://sho.rt' });
  onTestFinished(() => store.close());
  return store;
}

test('two processes serve one port: one key, each link once, exact limits, clicks and metrics of both, and all is written at the end', async () => {
  const kept = ['--link-cache', 'kept', '--public-url', 'https://sho.rt'];
  const server = await start(['--workers', '2', ...kept]);
  expect(server.key).toMatch(/^sl_/);
  const created = await many(60, () => post(server, TARGET));
  expect(created.every(({ status }) => status === 201)).toBe(true);
  const { code } = JSON.parse(await (created[0] as Response).text());
  const followed = await many(100, () => follow(server, code));
  expect(followed.every(({ status }) => status === 302)).toBe(true);
  const clicks = followed.length;
  await expect.poll(() => metric(server, 'shortlink_redirects_total{type="302"}')).toBe(clicks);
  expect(await metric(server, 'shortlink_links_created_total{by="single"}')).toBe(created.length);
  expect(await metric(server, 'shortlink_database_up')).toBe(1);
  expect(new Set(workersOf(server).map(({ number }) => number))).toEqual(new Set([0, 1]));

  // The process that starts the others leaves the database to them.
  if (process.platform === 'linux') {
    const opened = `/proc/${server.child.pid}/fd`;
    const names = await readdir(opened);
    const targets = await Promise.all(
      names.map((fd) => readlink(join(opened, fd)).catch(() => '')),
    );
    expect(targets.length).toBeGreaterThan(0);
    expect(targets.filter((file) => file.startsWith(folder()))).toEqual([]);
  }

  const { key, store } = await accountWith({ requests_per_day: 50 });
  const answers = await many(150, () => post({ ...server, key }, TARGET));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(50);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(answers.length - 50);

  server.child.kill('SIGTERM');
  const { code: exitCode, stderr } = await server.ended;
  expect([exitCode, stderr.match(/"msg":"stopped"/g)?.length]).toEqual([0, 2]);
  for (const line of stderr.trim().split('\n')) JSON.parse(line);
  expect((await store.findLink(code))?.click_count).toBe(clicks);

  // Each process keeps its own links in memory over a restart.
  const knowCode = async (...names: string[]) => {
    const texts = names.map((name) => readFile(join(folder(), name), 'utf8'));
    return (await Promise.all(texts)).map((text) => text.includes(code));
  };
  const files = (await readdir(folder())).filter((name) => name.startsWith('kept'));
  expect(files.toSorted()).toEqual(['kept', 'kept.1']);
  expect(await knowCode(...files)).toEqual([true, true]);
  // A signal that reaches every process, as that of a terminal, ends them in order.
  const again = await start(['--workers', '2', ...kept]);
  for (const { pid } of workersOf(again)) process.kill(pid, 'SIGINT');
  again.child.kill('SIGINT');
  const end = await again.ended;
  expect([end.code, end.stderr.match(/"msg":"stopped"/g)?.length]).toEqual([0, 2]);
  expect(await knowCode(...files)).toEqual([true, true]);
  // Those of another public URL are not its own.
  const other = await start([...kept, '--public-url', 'https://other.example']);
  other.child.kill('SIGTERM');
  expect((await other.ended).code).toBe(0);
  expect(await knowCode('kept')).toEqual([false]);
});

test('processes that end are replaced, what they have counted stays in the metrics, and they end with the one that started them', async () => {
  // An error that nothing catches ends a process, too.
  const failing = 'process.on("SIGUSR2", () => { throw new Error("failing") })';
  const server = await start(['--workers', '2'], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(failing)}`,
  });
  const links = () => metric(server, 'shortlink_links_created_total{by="single"}');
  let count = 0;
  const createSome = async () => {
    const created = await many(20, () => post(server, TARGET));
    expect(created.every(({ status }) => status === 201)).toBe(true);
    count += created.length;
  };
  let started = 2;
  const endBoth = async (signal: NodeJS.Signals) => {
    for (const { pid } of workersOf(server).slice(-2)) process.kill(pid, signal);
    started += 2;
    await expect.poll(() => workersOf(server)).toHaveLength(started);
  };
  await createSome();
  expect(await links()).toBe(count);
  await endBoth('SIGKILL');
  expect(server.log()).toContain('"signal":"SIGKILL"');
  await expect.poll(links).toBe(count);

  // What nobody has asked for is counted all the same: what a process has told the others each second, or as it failed.
  await createSome();
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await endBoth('SIGKILL');
  expect(await links()).toBe(count);
  await createSome();
  await endBoth('SIGUSR2');
  expect(await links()).toBe(count);

  // A replacement that can't start is replaced until one can.
  const db = new Database({ path: join(folder(), 'x.db') });
  onTestFinished(() => db.close());
  db.exec('ALTER TABLE jobs RENAME TO lost');
  const replaced = () => server.log().match(/is replaced/g)?.length ?? 0;
  const before = replaced();
  process.kill(workersOf(server).at(-1)?.pid ?? 0, 'SIGKILL');
  await expect.poll(replaced).toBeGreaterThan(before + 2);
  db.exec('ALTER TABLE lost RENAME TO jobs');
  await expect.poll(() => workersOf(server)).toHaveLength(started + 1);

  // Without the process that started them, they write their clicks and end.
  const { code } = JSON.parse(await (await post(server, TARGET)).text());
  const { length } = await many(20, () => follow(server, code));
  const pids = workersOf(server).map(({ pid }) => pid);
  server.child.kill('SIGKILL');
  await expect.poll(() => pids.some(isAlive)).toBe(false);
  expect((await (await openStore()).findLink(code))?.click_count).toBe(length);
});

test('a wrong setting is named once, as without workers', async () => {
  const domain = 'go.example.com';
  const { id, store } = await accountWith({});
  await store.addDomain({ hostname: domain, accountId: id, now: Date.now() });
  const outcomes = ['1', '2'].map((count) => {
    const args = ['start', '--workers', count, '--port', '0'];
    return run(args, { SHORTLINK_ROOT_URL: `https://${domain}/` }).ended;
  });
  const stderr = expect.stringMatching(/^error: SHORTLINK_ROOT_URL is [^\n]*\n$/);
  expect(await outcomes[1]).toEqual({ code: 2, stderr });
  expect(await outcomes[1]).toEqual(await outcomes[0]);
});

const isNight = process.env['SHORTLINK_TEST_NIGHT'] !== undefined;

/** Each night for a minute. Longer with `SHORTLINK_WORKERS_SECONDS=600`. */
const SECONDS = Number(process.env['SHORTLINK_WORKERS_SECONDS'] ?? (isNight ? 60 : 2));

/** So that the links that an account may have are not all created before a process is killed, and other tests get on. */
const PAUSE_MS = isNight ? 0 : 25;

test(
  'under load, with a process killed each second: what was acknowledged is there, and no limit is passed',
  async () => {
    const server = await start(['--workers', '2']);
    const { id, key, store } = await accountWith({ links: 200 });
    const { code } = JSON.parse(await (await post({ ...server, key }, TARGET)).text());
    const acknowledged: string[] = [code];
    const endsAt = performance.now() + SECONDS * 1_000;
    let [tried, answered] = [0, 0];
    const load = async () => {
      while (performance.now() < endsAt) {
        const created = await post({ ...server, key }, TARGET).catch(() => undefined);
        const text = created?.status === 201 ? await created.text().catch(() => '') : '';
        if (text !== '') acknowledged.push(JSON.parse(text).code);
        tried += 1;
        const followed = await follow(server, code).catch(() => undefined);
        if (followed?.status === 302) answered += 1;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    };
    const killed = new Set<number>();
    const kill = async () => {
      while (performance.now() < endsAt - 1_000) {
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        const pid = workersOf(server).findLast((worker) => !killed.has(worker.pid))?.pid;
        if (pid === undefined) continue;
        killed.add(pid);
        process.kill(pid, 'SIGKILL');
      }
    };
    await Promise.all([kill(), ...Array.from({ length: 4 }, load)]);
    // The last one that was killed is there again.
    await expect
      .poll(() =>
        post({ ...server, key }, TARGET).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(403);
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(0);
    const { links } = await json(['accounts', 'show', id]).then(({ limits }) => limits);
    const listed = await json(['links', 'list', '--account', id, '--limit', '1000']);
    const codes = new Set(listed.map((link: { code: string }) => link.code));
    expect(codes.size).toBe(links);
    expect(acknowledged.filter((known) => !codes.has(known))).toEqual([]);
    const clicks = (await store.findLink(code))?.click_count ?? 0;
    // The last half second of a process that is killed may be lost.
    expect(clicks).toBeLessThanOrEqual(answered + tried);
    expect(clicks).toBeGreaterThan(answered / 4);
    expect(killed.size).toBeGreaterThan(0);
  },
  SECONDS * 1_000 + 300_000,
);

test('a second signal ends every process at once', async () => {
  const server = await start(['--workers', '2'], { SHORTLINK_DRAIN_DELAY_MS: '60000' });
  const pids = workersOf(server).map(({ pid }) => pid);
  server.child.kill('SIGTERM');
  await expect.poll(() => server.log().match(/"msg":"stopping"/g)).toHaveLength(2);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  server.child.kill('SIGTERM');
  expect((await server.ended).code).toBe(1);
  await expect.poll(() => pids.some(isAlive), { timeout: 30_000 }).toBe(false);
});

test.each([
  [['--database', 'sqlite::memory:'], 'expected one that is not in memory'],
  [['--database', 'postgres://x@127.0.0.1:1/x'], 'ECONNREFUSED'],
])('%j: nothing is started', async (args, message) => {
  const { ended } = run(['start', '--workers', '2', '--port', '0', ...args]);
  const { code, stderr } = await ended;
  expect(code).not.toBe(0);
  expect(stderr).toContain(message);
  expect(stderr).not.toContain('a worker');
});

test('a port that is taken is named once', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { ended } = run(['start', '--workers', '2', '--port', String(port)]);
  const { code, stderr } = await ended;
  expect(code).toBe(1);
  expect(stderr.match(/EADDRINUSE/g)).toHaveLength(1);
  expect(stderr).toContain('Another program listens there');
});
