import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { portOf } from '../src/serve.ts';
import { Database } from '../src/store/sqlite/database.ts';
import { migrateSqlite } from '../src/store/sqlite/index.ts';
import { migrate, schemaVersion } from '../src/store/sqlite/migrate.ts';
import { startTestServer } from '../src/testing/index.ts';
import { connectTo, post, raw, useProcesses } from './server-process.ts';

const { run, start, folder } = useProcesses();

const TARGET = { target_url: 'https://example.com/' };

describe('a serving process', () => {
  test('says where it listens, serves, and exits 0 on SIGTERM with every click written', async () => {
    const server = await start();
    // No connection stays open, since a stop that waits for one would give the clicks time to be written before it.
    const request = (head: string, body = '') =>
      `${head} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${server.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const input = JSON.stringify({ target_url: 'https://example.com/' });
    const create = `${request('POST /api/v1/links', input)}Connection: close\r\n\r\n${input}`;
    const code = /"code":"(\w+)"/.exec(await raw(server.url, create))?.[1] ?? '';
    const click = request(`GET /${code}`);
    await raw(server.url, `${click}\r\n`.repeat(9), `${click}Connection: close\r\n\r\n`);
    server.child.kill('SIGTERM');
    const { code: exitCode, stderr } = await server.ended;
    expect(exitCode).toBe(0);
    for (const line of stderr.trim().split('\n')) JSON.parse(line);
    const shown = run(['links', 'show', code, '--json']);
    let out = '';
    for await (const chunk of shown.child.stdout) out += chunk;
    expect(JSON.parse(out).click_count).toBe(10);
  });

  test('serves under the public URL that it was given, and clients that err or go away leave no error behind', async () => {
    const server = await start(['--public-url', 'https://sho.rt']);
    const link = JSON.parse(await (await post(server, TARGET)).text());
    expect(link.short_url).toBe(`https://sho.rt/${link.code}`);
    expect((await post(server, { target_url: 'https://SHO.RT:443/x' })).status).toBe(400);

    // The metrics have requests that are refused before the app, and the process itself.
    await raw(server.url, 'GET / HTTP/1.1\r\n\r\n');
    await raw(server.url, 'garbage\r\n\r\n');
    await raw(server.url, `GET / HTTP/1.1\r\nHost: ${'x'.repeat(20_000)}\r\n\r\n`);
    await raw(server.url, 'GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n');
    await raw(server.url, 'GET / HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n');
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    for (const counted of ['400"} 3', '431"} 1', '417"} 1']) {
      expect(metrics).toContain(
        `shortlink_http_requests_total{route="none",method="other",status="${counted}`,
      );
    }
    expect(metrics).toMatch(/^process_resident_memory_bytes \d/m);

    // A chunked body above 16 MiB is 413 before it ends.
    const chunk = Buffer.concat([
      Buffer.from('100000\r\n'),
      Buffer.alloc(0x100000, 0x20),
      Buffer.from('\r\n'),
    ]);
    const text = await raw(
      server.url,
      `POST /api/v1/links HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${server.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      ...Array<Buffer>(40).fill(chunk),
    );
    expect(text).toMatch(/^HTTP\/1\.1 413 /);

    // A client goes away in mid-body.
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.write(
      `POST /api/v1/links HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${server.key}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"target`,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    server.child.kill('SIGTERM');
    expect((await server.ended).stderr).not.toMatch(/"level":"error"|Error/);
  });

  test('finishes the request in flight, closes idle connections and refuses new ones', async () => {
    const server = await start();
    const body = JSON.stringify({ target_url: 'https://example.com/' });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.write(
      `POST /api/v1/links HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${server.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
    );
    await fetch(`${server.url}/healthz`);
    server.child.kill('SIGTERM');
    await expect.poll(() => fetch(`${server.url}/healthz`).catch(() => 'refused')).toBe('refused');
    socket.write(body.slice(5));
    await once(socket, 'close');
    expect(answer).toContain('201 Created');
    expect((await server.ended).code).toBe(0);
  });

  test('with a drain delay it says first that it is not ready, and still answers', async () => {
    const server = await start([], { SHORTLINK_DRAIN_DELAY_MS: '8000' });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    server.child.kill('SIGTERM');
    const ready = () =>
      fetch(`${server.url}/readyz`).then(
        ({ status, headers }) => `${status} ${headers.get('connection')}`,
        () => 'refused',
      );
    // Clients open their next connection elsewhere.
    await expect.poll(ready).toBe('503 close');
    expect((await post(server, { target_url: 'https://example.com/' })).status).toBe(201);
    await expect.poll(ready, { interval: 500 }).toBe('refused');
    expect((await server.ended).code).toBe(0);
  });

  test('is ended at once, without a failure, by a signal that comes while it starts', async () => {
    // A database that never responds.
    const database = createServer();
    const asked = once(database, 'connection');
    await once(database.listen(0, '127.0.0.1'), 'listening');
    const SHORTLINK_DATABASE_URL = `postgres://127.0.0.1:${portOf(database)}/x`;
    const { child, ended } = run(['start', '--port', '0'], { SHORTLINK_DATABASE_URL });
    await asked;
    child.kill('SIGTERM');
    expect(await ended).toEqual({ code: 0, stderr: '' });
    database.close();
  });

  test('keeps its data over restarts, --dev makes no second account, and a backup of it can be served', async () => {
    const first = await start();
    const link = JSON.parse(await (await post(first, TARGET)).text());
    const file = join(folder(), 'backup.db');
    const backup = run(['backup', file]);
    const stderr = `database: ${join(folder(), 'x.db')}\n`;
    expect(await backup.ended).toEqual({ code: 0, stderr });
    // A closed terminal does not end it before everything is written.
    first.child.kill('SIGHUP');
    const end = await first.ended;
    expect([end.code, end.stderr.match(/"msg":"stopped"/g)?.length]).toEqual([0, 1]);

    const follow = (url: string) => fetch(`${url}/${link.code}`, { redirect: 'manual' });
    const second = await start();
    expect(second.key).toBe('');
    expect((await follow(second.url)).status).toBe(302);
    const create = { ...second, key: first.key };
    expect((await post(create, { target_url: 'https://a.example/' })).status).toBe(201);
    // Two signals at once are one.
    second.child.kill('SIGTERM');
    second.child.kill('SIGHUP');
    const { code, stderr: log } = await second.ended;
    expect([code, log.match(/"msg":"stopped"/g)?.length]).toEqual([0, 1]);
    expect(log).toMatch(
      /the database has accounts, so --dev created none; .* keys create --account acc_\w+ --database sqlite:\/\S+"/,
    );

    const restored = await start([], { SHORTLINK_DATABASE_URL: `sqlite:${file}` });
    expect((await follow(restored.url)).headers.get('location')).toBe(TARGET.target_url);
    // A second signal ends it at once. A request whose body never ends would be waited for.
    const socket = connectTo(restored.url);
    const headers = `Host: x\r\nX-Api-Key: ${first.key}\r\nContent-Type: application/json\r\nContent-Length: 5`;
    socket.write(`POST /api/v1/links HTTP/1.1\r\n${headers}\r\n\r\n`);
    await fetch(`${restored.url}/healthz`);
    restored.child.kill('SIGTERM');
    await expect.poll(restored.log).toContain('"msg":"stopping"');
    await sleep(1_100);
    restored.child.kill('SIGTERM');
    expect((await restored.ended).code).toBe(1);
  });
});

test('a backup replaces no file, and one of PostgreSQL is made by its own program', async () => {
  const file = join(folder(), 'backup.db');
  await migrateSqlite(join(folder(), 'x.db'));
  await writeFile(file, 'of yesterday');
  expect((await run(['backup', file]).ended).code).toBe(1);
  expect(await readFile(file, 'utf8')).toBe('of yesterday');
  const postgres = run(['backup', 'x.db'], { SHORTLINK_DATABASE_URL: 'postgres://db/x' });
  expect(await postgres.ended).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(
      'pg_dump --format=custom --file="x.db" "$SHORTLINK_DATABASE_URL"',
    ),
  });
});

describe('a backup that is killed', () => {
  /** A backup that waits for its database, the file that it shall write, and what ends the wait. */
  async function waitingBackup() {
    const path = join(folder(), 'x.db');
    await migrateSqlite(path);
    const holder = new Database({ path });
    // With a write-ahead log, nobody who reads would wait.
    holder.exec('PRAGMA journal_mode = DELETE');
    holder.exec('BEGIN EXCLUSIVE');
    const { child, ended } = run(['backup', join(folder(), 'backup.db')]);
    const exit = once(child, 'exit');
    await expect.poll(files).not.toEqual(['x.db']);
    return { child, exit, ended, release: () => holder.close() };
  }
  const files = () => readdir(folder());

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('by %s: leaves nothing', async (signal) => {
    const { child, exit, release } = await waitingBackup();
    child.kill(signal);
    expect(await exit).toEqual([null, signal]);
    release();
    expect(await files()).toEqual(['x.db']);
  });

  test('by SIGKILL: leaves no file of its name, and the next one succeeds', async () => {
    const { child, exit, ended, release } = await waitingBackup();
    child.kill('SIGKILL');
    await exit;
    release();
    // The process that copies is left alone, and has the same standard error.
    await ended;
    expect(await files()).not.toContain('backup.db');
    const next = run(['backup', join(folder(), 'backup.db')]);
    expect(await next.ended).toMatchObject({ code: 0 });
    expect(await files()).toContain('backup.db');
  });
});

/** Makes a database of so many links. */
async function databaseOf(links: number): Promise<void> {
  const path = join(folder(), 'x.db');
  await migrateSqlite(path);
  const db = new Database({ path });
  db.exec(`
    INSERT INTO accounts (id, name, plan, limits, created_at) VALUES ('acc_1', 'x', 'pro', '{}', 0);
    WITH RECURSIVE numbers (n) AS (SELECT 1000000 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${1_000_000 + links})
    INSERT INTO links (code, id, account_id, target_url, target_number, title, redirect_type, is_active, tags, created_at)
      SELECT n, n, 'acc_1', 'https://example.com/', n, '', 302, 1, '[]', 0 FROM numbers`);
  db.close();
}

test('an export that a signal ends leaves the old file, and no part', async () => {
  await databaseOf(200_000);
  const file = join(folder(), 'links.csv');
  await writeFile(file, 'old');
  const files = () => readdir(folder());
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    const { child } = run(['links', 'export', '-o', file]);
    const exit = once(child, 'exit');
    await expect.poll(files).toContainEqual(expect.stringMatching(/^links\.csv\..*\.part$/));
    child.kill(signal);
    expect(await exit).toEqual([null, signal]);
    expect((await files()).filter((name) => name.startsWith('links'))).toEqual(['links.csv']);
    expect(await readFile(file, 'utf8')).toBe('old');
  }
});

test('migrating a database in memory leaves no file', async () => {
  const migrate = run(['migrate'], { SHORTLINK_DATABASE_URL: 'sqlite::memory:' });
  expect(await migrate.ended).toEqual({ code: 0, stderr: 'database: :memory:\n' });
  expect(await readdir(folder())).toEqual([]);
});

test.each(['doctor', 'accounts list', 'backup copy.db'])(
  'the command %s says that no other process finds a database in memory',
  async (command) => {
    const settings = { SHORTLINK_DATABASE_URL: 'sqlite::memory:' };
    const { child, ended } = run(command.split(' '), settings);
    let out = '';
    for await (const chunk of child.stdout) out += chunk;
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    expect(out + stderr).toContain('A database in memory ');
    expect(out + stderr).not.toMatch(/folder|empty|--init/);
    expect(await readdir(folder())).toEqual([]);
  },
);

test('a log reader that stalls stops nothing, not even the exit, and a line says how many lines it missed', async () => {
  const server = await start();
  server.child.stderr?.pause();
  // The path is logged; together they are more than the pipe and the waiting lines take.
  const path = `/api/v1/${'x'.repeat(12_000)}`;
  for (let n = 0; n < 200; n += 1) expect((await fetch(server.url + path)).status).toBe(404);
  server.child.stderr?.resume();
  await expect.poll(() => server.log()).toMatch(/"dropped":\d+/);
  await fetch(`${server.url}/api/v1/read-again`);
  await expect.poll(() => server.log()).toContain('/api/v1/read-again');
  // One that stalls for good does not hold the exit back.
  server.child.stderr?.pause();
  for (let n = 0; n < 60; n += 1) await fetch(server.url + path);
  const exit = once(server.child, 'exit');
  server.child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
});

test('a relative path of a database is the same file for a writer that starts when the working directory is gone', async () => {
  const cwd = join(folder(), 'gone');
  await mkdir(cwd);
  const sqlite = new URL('../src/store/sqlite/index.ts', import.meta.url).href;
  // The first thread that writes ends here, as after a failure; the next write starts another one.
  const code = `
    import { rmSync } from 'node:fs';
    const { openSqliteStore } = await import(${JSON.stringify(sqlite)});
    const opening = openSqliteStore({ path: '../x.db', publicUrl: 'https://sho.rt' });
    rmSync(${JSON.stringify(cwd)}, { recursive: true });
    const store = await opening;
    const create = () => store.createAccount({ name: 'x', plan: 'pro', limits: {}, now: 0 });
    const account = await create().catch(create);
    console.log(store.isHealthy() && account.name);
    await store.close();`;
  const script = join(folder(), 'write.mjs');
  await writeFile(script, code);
  const { stdout } = await promisify(execFile)(process.execPath, [script], { cwd });
  expect(stdout.trim()).toBe('x');
});

describe('a start that fails', () => {
  test('on a taken port: what to do, exit 1, and no database is made', async () => {
    await using server = await startTestServer();
    const port = new URL(server.url).port;
    const database = join(folder(), 'other.db');
    const second = run(['start', '--port', port, '--database', `sqlite:${database}`]);
    const { code, stderr } = await second.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(
        `^error: .*in use.*:${port}\n  Another program listens there, .*\n  Stop it, .*--port or SHORTLINK_PORT;\n  --port 0 picks a free one.\n$`,
      ),
    );
    await expect(rm(database)).rejects.toThrow('ENOENT');
  });

  test.each([
    [{ SHORTLINK_PORT: 'x' }, 2, /^error: SHORTLINK_PORT is "x"; expected .*\n$/],
    [{ SHORTLINK_DATABASE_URL: 'mysql://u:secret@h/d' }, 2, /^error: SHORTLINK_DATABASE_URL .*\n$/],
    [
      { SHORTLINK_DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/d?sslrootcert=/nowhere/ca.pem' },
      2,
      /^error: sslrootcert of the database URL .*"\/nowhere\/ca.pem"; expected a file that can be read \(ENOENT\)\n$/,
    ],
    [{ SHORTLINK_DATABASE_URL: 'sqlite:/nowhere/x.db', SHORTLINK_PORT: '0' }, 1, /^error: .*\n$/],
  ])('with %j: one line and exit %i', async (env, exitCode, message) => {
    const { code, stderr } = await run(['start'], env).ended;
    expect(code).toBe(exitCode);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('secret');
  });
});

test.each(['SHORTLINK_ROOT_URL', 'SHORTLINK_NOT_FOUND_URL'])(
  '%s on the host of the service, which would redirect without end, stops the start',
  async (name) => {
    const url = 'https://SHO.rt./lost';
    const env = { SHORTLINK_PUBLIC_URL: 'https://sho.rt', SHORTLINK_PORT: '0', [name]: url };
    const { code, stderr } = await run(['start'], env).ended;
    expect(code).toBe(2);
    expect(stderr).toBe(
      `error: ${name} is "https://sho.rt./lost"; expected an address on a host that is not the service's own\n`,
    );
  },
);

test('an export into a pipe that nobody reads is ended by the first signal', async () => {
  await databaseOf(1);
  const pipe = join(folder(), 'pipe');
  await promisify(execFile)('mkfifo', [pipe]);
  const { child } = run(['links', 'export', '-o', pipe]);
  const exit = once(child, 'exit');
  await once(child.stderr, 'data');
  await sleep(300);
  child.kill('SIGINT');
  expect(await exit).toEqual([null, 'SIGINT']);
});

describe('a command that is no start', () => {
  const path = () => join(folder(), 'x.db');

  test('ends quietly when nobody reads its output any more', async () => {
    await databaseOf(20_000);
    const { child, ended } = run(['links', 'export']);
    child.stdout.once('data', () => child.stdout.destroy());
    const stderr = `database: ${path()}\nshort URLs begin with http://127.0.0.1:8787: no public URL is set\n`;
    expect(await ended).toEqual({ code: 0, stderr });
  });

  test('says with domains, too, where no public URL is set', async () => {
    await databaseOf(1);
    const { stderr } = await run(['domains', 'list']).ended;
    expect(stderr).toContain('short URLs begin with http://127.0.0.1:8787: no public URL is set');
    expect((await run(['accounts', 'list']).ended).stderr).not.toContain('public URL');
  });

  test.each([
    ['keys', 'revoke', 'key_1'],
    ['accounts', 'create', '--name', 'x', '--plan', 'pro'],
    ['accounts', 'list'],
  ])('%s %s makes no database, and names the one that it did not find', async (...args) => {
    const { code, stderr } = await run(args).ended;
    expect(code).toBe(1);
    const hint =
      args[1] === 'create'
        ? '  With --init, it is made here, and its schema brought up to date.\n'
        : '';
    expect(stderr).toBe(
      `database: ${path()}\nerror: There is no database ${path()}, or this user may not enter its folder.\n${hint}`,
    );
    expect(await readdir(folder())).toEqual([]);
  });

  test('migrates no schema: that of an earlier version stays, and the message says what to do', async () => {
    const db = new Database({ path: path() });
    migrate(db, [{ version: 18, name: 'domain links', sql: '' }], 0);
    const { code, stderr } = await run(['accounts', 'list']).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(
      'has schema version 18 (domain links), which no release had. Export its links with the program that made it, and import them into a new database.',
    );
    expect(schemaVersion(db)).toBe(18);
    db.close();
  });

  test('looks with doctor at a database that is there, and says that another one is not', async () => {
    const doctor = async () => {
      const { child, ended } = run(['doctor', '--json']);
      let out = '';
      for await (const chunk of child.stdout) out += chunk;
      return {
        code: (await ended).code,
        checks: JSON.parse(out).map((row: { check: string }) => row.check),
        todo: JSON.parse(out)[0].todo,
      };
    };
    const todo = `There is no database ${path()}, or this user may not enter its folder. Check SHORTLINK_DATABASE_URL.`;
    expect(await doctor()).toEqual({ code: 1, checks: ['database', 'public URL'], todo });
    expect(await readdir(folder())).toEqual([]);
    await migrateSqlite(path());
    expect(await doctor()).toMatchObject({ checks: ['database', 'schema', 'disk', 'public URL'] });
    const db = new Database({ path: path() });
    db.exec("INSERT INTO schema_migrations VALUES (999, 'later', 0)");
    db.close();
    const newer = expect.stringContaining('Use the newer version of shortlink-server');
    expect(await doctor()).toEqual({ code: 1, checks: ['database', 'public URL'], todo: newer });
  });

  test('works on an empty database with accounts create --init, and then on that one', async () => {
    const create = ['accounts', 'create', '--name', 'x', '--plan', 'pro'];
    expect((await run([...create, '--init']).ended).code).toBe(0);
    expect(await run(create).ended).toEqual({ code: 0, stderr: `database: ${path()}\n` });
  });
});
