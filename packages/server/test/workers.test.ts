import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Database } from '../src/store/sqlite/database.ts';
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

test('two processes serve one port: one key, each link once, clicks and metrics of both, and all is written at the end', async () => {
  const server = await start(['--workers', '2']);
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
  server.child.kill('SIGTERM');
  const { code: exitCode, stderr } = await server.ended;
  expect([exitCode, stderr.match(/"msg":"stopped"/g)?.length]).toEqual([0, 2]);
  for (const line of stderr.trim().split('\n')) JSON.parse(line);
  expect((await json(['links', 'show', code])).click_count).toBe(clicks);
});

test('each process keeps its own links in memory over a restart, those of one public URL', async () => {
  const serve = (publicUrl: string) =>
    start(['--workers', '2', '--link-cache', 'kept', '--public-url', publicUrl]);
  const kept = async () => {
    const files = (await readdir(folder())).filter((name) => name.startsWith('kept'));
    expect(files.toSorted()).toEqual(['kept', 'kept.1']);
    const texts = await Promise.all(files.map((name) => readFile(join(folder(), name), 'utf8')));
    return texts.join().includes(code);
  };
  const stop = async ({ child, ended }: ServerProcess) => {
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
  };
  const first = await serve('https://sho.rt');
  const { code } = JSON.parse(await (await post(first, TARGET)).text());
  await many(20, () => follow(first, code));
  await stop(first);
  expect(await kept()).toBe(true);
  await stop(await serve('https://sho.rt'));
  expect(await kept()).toBe(true);
  await stop(await serve('https://other.example'));
  expect(await kept()).toBe(false);
});

test('limits are exact over all processes', async () => {
  const server = await start(['--workers', '2']);
  const { id } = await json([
    'accounts',
    'create',
    '--name',
    'x',
    '--plan',
    'custom',
    '--limit',
    'rpd=50',
  ]);
  const { key } = await json(['keys', 'create', '--account', id]);
  const answers = await many(300, () => post({ ...server, key }, TARGET));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(50);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(answers.length - 50);
});

test('a process that is killed is replaced, and what it has counted stays in the metrics', async () => {
  const server = await start(['--workers', '2']);
  const links = 'shortlink_links_created_total{by="single"}';
  const count = (await many(20, () => post(server, TARGET))).length;
  expect(await metric(server, links)).toBe(count);
  for (const { pid } of workersOf(server)) process.kill(pid, 'SIGKILL');
  await expect.poll(() => workersOf(server)).toHaveLength(4);
  expect(server.log()).toContain('"signal":"SIGKILL"');
  await expect.poll(() => metric(server, links)).toBe(count);
  expect((await post(server, TARGET)).status).toBe(201);
  server.child.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
});

test.each([
  ['SIGKILL', 1_500],
  ['SIGUSR2', 0],
] as const)(
  'what a process has counted that nobody asked for outlives it: %s, %i ms later',
  async (signal, ms) => {
    // An error that nothing catches ends a process, too.
    const failing = 'process.on("SIGUSR2", () => { throw new Error("failing") })';
    const server = await start(['--workers', '2'], {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(failing)}`,
    });
    const count = (await many(20, () => post(server, TARGET))).length;
    await new Promise((resolve) => setTimeout(resolve, ms));
    for (const { pid } of workersOf(server)) process.kill(pid, signal);
    await expect.poll(() => workersOf(server)).toHaveLength(4);
    expect(await metric(server, 'shortlink_links_created_total{by="single"}')).toBe(count);
  },
);

test('a replacement that can not start is replaced until one can', async () => {
  const server = await start(['--workers', '2']);
  const db = new Database({ path: join(folder(), 'x.db') });
  onTestFinished(() => db.close());
  db.exec('ALTER TABLE jobs RENAME TO lost');
  process.kill(workersOf(server)[0]?.pid ?? 0, 'SIGKILL');
  await expect.poll(() => server.log().match(/is replaced/g)?.length).toBeGreaterThan(2);
  db.exec('ALTER TABLE lost RENAME TO jobs');
  await expect.poll(() => workersOf(server)).toHaveLength(3);
  server.child.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
});

test('a wrong setting is named once, as without workers', async () => {
  const domain = 'go.example.com';
  const { id } = await json(['accounts', 'create', '--name', 'x', '--plan', 'pro', '--init']);
  await json(['domains', 'add', domain, '--account', id]);
  const outcomes = ['1', '2'].map((count) => {
    const args = ['start', '--workers', count, '--port', '0'];
    return run(args, { SHORTLINK_ROOT_URL: `https://${domain}/` }).ended;
  });
  const stderr = expect.stringMatching(/^error: SHORTLINK_ROOT_URL is [^\n]*\n$/);
  expect(await outcomes[1]).toEqual({ code: 2, stderr });
  expect(await outcomes[1]).toEqual(await outcomes[0]);
});

/** Each night for a minute. Longer with `SHORTLINK_WORKERS_SECONDS=600`. */
const SECONDS = Number(
  process.env['SHORTLINK_WORKERS_SECONDS'] ?? (process.env['SHORTLINK_TEST_NIGHT'] ? 60 : 3),
);

test(
  'under load, with a process killed each second: what was acknowledged is there, and no limit is passed',
  async () => {
    const server = await start(['--workers', '2']);
    const { id } = await json([
      'accounts',
      'create',
      '--name',
      'x',
      '--plan',
      'custom',
      '--limit',
      'links=200',
    ]);
    const { key } = await json(['keys', 'create', '--account', id]);
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
    await Promise.all([kill(), ...Array.from({ length: 8 }, load)]);
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
    const clicks = (await json(['links', 'show', code])).click_count;
    // The last half second of a process that is killed may be lost.
    expect(clicks).toBeLessThanOrEqual(answered + tried);
    expect(clicks).toBeGreaterThan(answered / 4);
    expect(killed.size).toBeGreaterThan(0);
  },
  SECONDS * 1_000 + 300_000,
);

test('a signal that reaches every process, as that of a terminal, ends them in order', async () => {
  const server = await start(['--workers', '2']);
  const pids = workersOf(server).map(({ pid }) => pid);
  for (const pid of pids) process.kill(pid, 'SIGINT');
  server.child.kill('SIGINT');
  const { code, stderr } = await server.ended;
  expect([code, stderr.match(/"msg":"stopped"/g)?.length]).toEqual([0, 2]);
});

test.skipIf(process.platform !== 'linux')(
  'the process that starts the others leaves the database to them',
  async () => {
    const { child } = await start(['--workers', '2']);
    const opened = `/proc/${child.pid}/fd`;
    const names = await readdir(opened);
    const files = await Promise.all(names.map((fd) => readlink(join(opened, fd)).catch(() => '')));
    expect(files.filter((file) => file.startsWith(folder()))).toEqual([]);
  },
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

test('without the process that started them, workers write their clicks and end', async () => {
  const server = await start(['--workers', '2']);
  const { code } = JSON.parse(await (await post(server, TARGET)).text());
  const { length } = await many(20, () => follow(server, code));
  const pids = workersOf(server).map(({ pid }) => pid);
  server.child.kill('SIGKILL');
  await expect.poll(() => pids.some(isAlive)).toBe(false);
  expect((await json(['links', 'show', code])).click_count).toBe(length);
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
