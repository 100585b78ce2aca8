import { Pool } from 'pg';
import type { DatabaseFacts } from '../operator-store.ts';
import { Channel } from './channel.ts';
import { databaseName, endSoon, requestConfig } from './connection.ts';
import { migrations, schemaVersion } from './migrate.ts';
import { toStoreError } from './postgres-errors.ts';

const FACTS = `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most,
  (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS of_role,
  (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`;

/**
 * Looks at a database without changing it.
 *
 * @throws StoreError when it can't be reached, or drops the time limits of its connections
 */
export async function inspectPostgres(url: string): Promise<DatabaseFacts> {
  const name = databaseName(url);
  const pool = new Pool({ ...requestConfig(url, 'read'), max: 1 });
  pool.on('error', () => undefined);
  try {
    const client = await pool.connect();
    client.on('error', () => undefined);
    const { isPooled } = await Channel.open(client, 'read', name);
    const version = await schemaVersion(client, name);
    const askedAt = Date.now();
    const { now, most, of_role, used } = (await client.query(FACTS)).rows[0];
    const middle = (askedAt + Date.now()) / 2;
    client.release(true);
    return {
      version,
      newest: migrations.at(-1)?.version ?? 0,
      isPooled,
      clockAheadMs: Math.round(now - middle),
      connections: { most: of_role < 0 ? most : Math.min(most, of_role), used },
    };
  } catch (error) {
    throw toStoreError(error, name);
  } finally {
    await endSoon(pool.end());
  }
}
