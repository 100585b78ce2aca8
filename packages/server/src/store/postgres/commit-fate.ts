import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import { endSoon } from './connection.ts';

/** How long to ask for the outcome of a commit while the database is away, and the wait between two tries, in milliseconds. */
export const FATE_WAIT_MS = 10_000;
const RETRY_MS = 100;

export type CommitFate = 'committed' | 'aborted' | 'unknown';

/**
 * What became of a transaction whose connection was lost after `COMMIT` was sent. The server remembers it, also over a
 * restart or a crash (https://www.postgresql.org/docs/current/functions-info.html, `pg_xact_status`). Without asking, a create
 * that is stored would get an error, and one that is not could not be repeated.
 */
export async function fateOf(
  xid: string,
  config: ClientConfig,
  maxWaitMs: number,
): Promise<CommitFate> {
  const giveUpAt = performance.now() + maxWaitMs;
  while (performance.now() < giveUpAt) {
    const status = await ask(xid, config).catch(() => 'in progress');
    if (status === 'committed' || status === 'aborted') return status;
    if (status === null) return 'unknown';
    await delay(RETRY_MS);
  }
  return 'unknown';
}

/** On a connection of its own: those of the pool may all be waiting for an outcome like this. */
async function ask(xid: string, config: ClientConfig): Promise<string | null> {
  const client = new Client(config);
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ status: string | null }>(
      'SELECT pg_xact_status($1::xid8) AS status',
      [xid],
    );
    return rows[0]?.status ?? null;
  } finally {
    await endSoon(client.end());
  }
}
