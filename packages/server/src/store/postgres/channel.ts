import type { PoolClient } from 'pg';
import type { Statement } from '../queries/reading.ts';
import { StoreError } from '../store-error.ts';
import { LIMITS, limitsOf, type Use } from './connection.ts';
import { PREPARE_BEGIN } from './numbered-write.ts';
import { prepared } from './statement.ts';

/** A standby, or a primary that is being replaced, can't be written to. */
const WHO_IS_THERE = `SELECT pg_backend_pid() AS pid,
  pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only`;

/** Statements that wait for the lock of another transaction read what that one wrote, whatever the default of the database is. */
const EACH_STATEMENT = 'ISOLATION LEVEL READ COMMITTED';

const READ_BACK = `SELECT ${LIMITS.map(
  (name) => `(extract(epoch FROM current_setting('${name}')::interval) * 1000)::int AS ${name}`,
).join()}`;

/** A connection with its time limits. Behind a pooler they are set in each transaction, which may run in another session of the database. */
export class Channel {
  readonly client: PoolClient;
  readonly isPooled: boolean;
  readonly isReadOnly: boolean;
  readonly #use: Use;

  private constructor(client: PoolClient, use: Use, seen: { pid: number; is_read_only: boolean }) {
    this.client = client;
    this.#use = use;
    // A pooler gives its clients process numbers of its own.
    this.isPooled = !('processID' in client) || client.processID !== seen.pid;
    this.isReadOnly = seen.is_read_only;
  }

  /** @throws StoreError when the time limits don't hold */
  static async open(client: PoolClient, use: Use, name: string): Promise<Channel> {
    const { rows } = await client.query<{ pid: number; is_read_only: boolean }>(WHO_IS_THERE);
    const channel = new Channel(client, use, rows[0] ?? { pid: 0, is_read_only: true });
    if (channel.isReadOnly && use === 'write') return channel;
    const prepare = use === 'write' ? `; ${PREPARE_BEGIN}` : '';
    const isolation = `SET SESSION CHARACTERISTICS AS TRANSACTION ${EACH_STATEMENT}`;
    if (channel.isPooled) await channel.begin();
    else await client.query(`${isolation}; ${setLimits('SESSION', use)}${prepare}`);
    checkLimits(use, (await client.query(READ_BACK)).rows[0], name);
    if (channel.isPooled) await channel.commit();
    return channel;
  }

  /** Begins a transaction, with limits of its own for another `use`. */
  async begin(mode = EACH_STATEMENT, use = this.#use): Promise<void> {
    const limits = this.isPooled || use !== this.#use ? `; ${setLimits('LOCAL', use)}` : '';
    await this.client.query(`BEGIN ${mode}${limits}`);
  }

  async commit(): Promise<void> {
    await this.client.query('COMMIT');
  }

  async single(statement: Statement): Promise<object[]> {
    if (!this.isPooled) return this.run(statement);
    await this.begin();
    const rows = await this.run(statement);
    await this.commit();
    return rows;
  }

  async run({ text, values }: Statement, options?: { query_timeout: number }): Promise<object[]> {
    const named = prepared(text);
    const query = this.isPooled ? { text: named.text } : named;
    return (await this.client.query<object>({ ...query, ...options, values: [...values] })).rows;
  }
}

function setLimits(scope: 'SESSION' | 'LOCAL', use: Use): string {
  const limits = limitsOf(use);
  return LIMITS.map((name) => `SET ${scope} ${name} = ${limits[name]}`).join('; ');
}

/** @throws StoreError when something between us and the database drops what was set: calls would hang where it hangs. */
export function checkLimits(use: Use, found: Record<string, unknown>, name: string): void {
  const limits = limitsOf(use);
  for (const limit of LIMITS) {
    if (found[limit] === limits[limit]) continue;
    throw new StoreError(
      'unavailable',
      `The database ${name} has ${limit} = ${found[limit]} ms right after it was set to ${limits[limit]} ms.`,
    );
  }
}
