import { setTimeout as delay } from 'node:timers/promises';
import {
  execute,
  type PostgresProcess,
  startPostgres,
} from '../../../server/test/start-postgres.ts';

/** Settings of every PostgreSQL that is simulated on: nothing is to survive the machine, and nothing happens without being asked for. */
export const SETTINGS = ['fsync=off', 'autovacuum=off', 'deadlock_timeout=20ms'] as const;

/** A commit is acknowledged once the standby shows it. */
const OF_PRIMARY = ['synchronous_standby_names=*', 'synchronous_commit=remote_apply'] as const;

/** A standby that was cut off does not come back. */
const OF_STANDBY = ['wal_retrieve_retry_interval=1d'] as const;

/** How long a step of replication may take, in milliseconds of real time. */
const STUCK_MS = 30_000;

/** A primary and its synchronous standby: two real servers, with the tables of the service. */
export class Pair {
  readonly #primary: PostgresProcess;
  readonly #standby: PostgresProcess;

  private constructor(primary: PostgresProcess, standby: PostgresProcess) {
    this.#primary = primary;
    this.#standby = standby;
  }

  /** @param source - a server with the tables, which is down */
  static async start(source: PostgresProcess): Promise<Pair> {
    const [first, second] = await Promise.all([source.copy(), source.copy()]);
    const primary = await first.start([...SETTINGS, ...OF_PRIMARY]);
    const { port } = new URL(primary.url);
    const standby = await second.start([...SETTINGS, ...OF_STANDBY], { port: Number(port) });
    const pair = new Pair(primary, standby);
    await until(primary, `EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')`);
    return pair;
  }

  get url(): string {
    return this.#primary.url;
  }

  /** From now on the standby receives what is committed, and acknowledges nothing: each commit on the primary waits for it. */
  async silence(): Promise<void> {
    await this.#catchUp();
    await execute(this.#standby.url, 'SELECT pg_wal_replay_pause()');
    await until(this.#standby, `pg_get_wal_replay_pause_state() = 'paused'`);
  }

  /** The standby receives nothing any more. It has all that was committed until now, whether or not anybody was told. */
  async cut(): Promise<void> {
    await this.#catchUp();
    const sender = 'SELECT pg_terminate_backend(pid) FROM pg_stat_replication';
    await execute(this.#primary.url, sender);
    await until(this.#standby, 'NOT EXISTS (SELECT FROM pg_stat_wal_receiver)');
  }

  /** Ends all sessions whose commit waits. From then on the primary shows to others what they have written. */
  async endWaiting(): Promise<void> {
    const waiting = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;
    await execute(this.#primary.url, waiting);
  }

  /**
   * The standby takes over, and then the primary is lost.
   *
   * @param lead - leads everybody to the new primary
   */
  async promote(lead: (url: string) => Promise<void>): Promise<void> {
    await execute(this.#standby.url, 'SELECT pg_promote()');
    await lead(this.#standby.url);
    await this.#primary.kill();
  }

  async remove(): Promise<void> {
    await Promise.all([this.#primary.remove(), this.#standby.remove()]);
  }

  /** Everything that the primary has written by now has arrived, also what no commit waits for. */
  async #catchUp(): Promise<void> {
    const [written] = await execute(
      this.#primary.url,
      'SELECT pg_logical_emit_message(false, $$simulation$$, $$$$, true) AS until',
    );
    await until(this.#standby, `pg_last_wal_receive_lsn() >= '${written?.['until']}'`);
  }
}

async function until({ url }: PostgresProcess, condition: string): Promise<void> {
  const giveUpAt = performance.now() + STUCK_MS;
  for (;;) {
    const [row] = await execute(url, `SELECT ${condition} AS holds`);
    if (row?.['holds'] === true) return;
    if (performance.now() > giveUpAt) throw new Error(`It takes too long until ${condition}`);
    await delay(2);
  }
}

/** Starts a server whose copies are pairs, and leaves it down. */
export async function startSource(
  migrate: (url: string) => Promise<unknown>,
): Promise<PostgresProcess> {
  const source = await startPostgres(SETTINGS);
  await migrate(source.url);
  await source.shutDown();
  return source;
}
