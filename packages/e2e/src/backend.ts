import { join } from 'node:path';
import { startPostgres } from '../../server/test/start-postgres.ts';
import { startCluster } from './cluster.ts';
import { type ServerProcess, type StartOptions, startServer } from './server-process.ts';

/** The servers and the database of a world. */
export interface Backend {
  /** URL of an empty database. */
  database: string;
  start: (options: StartOptions) => Promise<ServerProcess>;
  /** Deletes the database, once no server runs. */
  remove: () => Promise<void>;
}

/**
 * One server on SQLite; or, with `SHORTLINK_E2E_BACKEND=cluster`, three on PostgreSQL behind a balancer, so that the same tests
 * check both.
 */
export async function createBackend(folder: string): Promise<Backend> {
  if (process.env['SHORTLINK_E2E_BACKEND'] !== 'cluster') {
    const database = `sqlite:${join(folder, 'shortlink.db')}`;
    return { database, start: startServer, remove: async () => undefined };
  }
  const postgres = await startPostgres(['fsync=off']);
  const start = (options: StartOptions) => (options.isAlone ? startServer : startCluster)(options);
  return { database: postgres.url, start, remove: postgres.remove };
}
