import { PgBoss } from 'pg-boss';
import type { JobQueue, JobWork } from '../store.ts';
import { databaseName } from './connection.ts';
import { toStoreError } from './postgres-errors.ts';
import type { Session } from './session.ts';

const QUEUE = 'shortlink-jobs';

/**
 * How long a job is left to an instance that gives no sign of life, in seconds: the least that pg-boss offers. With
 * {@link SUPERVISE_S}, the delay of a retry and {@link POLL_S}, the job of a killed instance goes on within 16 seconds.
 */
const HEARTBEAT_S = 10;
const HEARTBEAT_REFRESH_S = 3;
const SUPERVISE_S = 2;

/** Jobs are announced as they come; asking is for those that are handed out again. */
const POLL_S = 2;

/** Jobs of one instance at a time: a short one is not held up by the long one before it. */
const JOBS_AT_A_TIME = 4;

const YEAR_S = 31_536_000;

/** How jobs are kept. A job is tried again for ever: it was accepted, and its links are paid for. */
const QUEUE_OPTIONS = {
  heartbeatSeconds: HEARTBEAT_S,
  expireInSeconds: 3_600,
  retryLimit: 1_000_000,
  retryDelay: 1,
  retryBackoff: true,
  retryDelayMax: 30,
  retentionSeconds: 10 * YEAR_S,
  deleteAfterSeconds: 60,
  notify: true,
};

/** Connections of pg-boss, apart from those of requests, so that neither keeps the other waiting. */
const CONNECTIONS = 2;

/** An answer that takes longer never comes, in milliseconds. */
const ANSWER_TIMEOUT_MS = 30_000;

/** Hands jobs out over all instances, with pg-boss. This module alone knows it. */
export class PgBossQueue implements JobQueue {
  readonly #boss: PgBoss;
  #onError: (error: unknown) => void = () => undefined;
  #started: Promise<unknown> | undefined;
  #stopping = new AbortController();

  constructor(url: string) {
    this.#boss = new PgBoss({
      connectionString: withQueryTimeout(url),
      application_name: 'shortlink-jobs',
      connectionTimeoutMillis: 3_000,
      max: CONNECTIONS,
      schedule: false,
      superviseIntervalSeconds: SUPERVISE_S,
      monitorIntervalSeconds: SUPERVISE_S,
      maintenanceIntervalSeconds: 60,
      useListenNotify: true,
    });
    // It goes on by itself when the database is back.
    // As the driver's errors carry the whole connection, they must not be logged as they are.
    this.#boss.on('error', (error) => this.#onError(toStoreError(error, databaseName(url))));
  }

  /** Brings the tables of pg-boss up to date. Instances must not do it at the same time. */
  async install(): Promise<void> {
    await this.ready();
    if ((await this.#boss.getQueue(QUEUE)) === null)
      await this.#boss.createQueue(QUEUE, QUEUE_OPTIONS);
    else await this.#boss.updateQueue(QUEUE, QUEUE_OPTIONS);
  }

  /** Connects, once. Call it before the transaction that {@link enqueue} is part of. */
  async ready(): Promise<void> {
    this.#started ??= this.#boss.start().catch((error: unknown) => {
      this.#started = undefined;
      throw error;
    });
    await this.#started;
  }

  /** Puts a job in line when the transaction of this session is committed. */
  async enqueue(session: Session, jobId: string): Promise<void> {
    const db = {
      executeSql: async (sql: string, values: string[] = []) => ({
        rows: await session.all(sql, ...values),
      }),
    };
    await this.#boss.send(QUEUE, null, { id: jobId, db });
  }

  async work(run: JobWork, onError: (error: unknown) => void): Promise<void> {
    this.#onError = onError;
    await this.ready();
    const options = {
      localConcurrency: JOBS_AT_A_TIME,
      pollingIntervalSeconds: POLL_S,
      notifyPollingIntervalSeconds: POLL_S,
      heartbeatRefreshSeconds: HEARTBEAT_REFRESH_S,
    };
    await this.#boss.work(QUEUE, options, async ([job]) => {
      if (job === undefined) return;
      await run(job.id, AbortSignal.any([job.signal, this.#stopping.signal]));
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#started === undefined) return;
    await this.#boss.offWork(QUEUE, { wait: true });
  }

  async close(): Promise<void> {
    await this.stop();
    if (this.#started !== undefined) await this.#boss.stop({ graceful: false });
  }
}

/** pg-boss has no option for it, but hands the address on to the driver, which takes its options from there too. */
function withQueryTimeout(url: string): string {
  const withOption = new URL(url);
  withOption.searchParams.set('query_timeout', String(ANSWER_TIMEOUT_MS));
  return withOption.href;
}
