import { setTimeout as delay } from 'node:timers/promises';
import { type ClientConfig, types } from 'pg';
import { StoreError } from '../store-error.ts';

const CONNECT_TIMEOUT_MS = 2_000;

/** The server stops a statement after so long. A write may be a batch of 10,000 links; a search of an operator goes through all links. */
const TIMEOUTS_MS = { read: 3_000, write: 5_000, search: 60_000 } as const;

/** The driver gives up a connection that is silent for this much longer than a statement may take: its other end is gone. */
const SILENCE_MS = 1_000;

/** A write waits so long for a locked row: three instances that write to one account over a slow network wait some hundred milliseconds. */
export const LOCK_TIMEOUT_MS = 2_000;

/** The server ends a session whose transaction is idle for so long: a process that is paused or cut off holds up others for at most this time. */
export const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;

/** An idle connection is checked after this long, so that routers in between don't forget it. */
const KEEP_ALIVE_MS = 10_000;

const INT8 = types.builtins.INT8;

/** The driver gives bigint as text, since JavaScript's numbers end at 2^53. Our times, counts and limits stay far below. */
const NUMBERS: ClientConfig['types'] = {
  getTypeParser: (oid, format) =>
    oid === INT8 && format !== 'binary' ? Number : types.getTypeParser(oid, format),
};

export type Use = keyof typeof TIMEOUTS_MS;

/** Settings of a session or transaction that end what takes too long. PgBouncer refuses them where a connection is opened. */
export const LIMITS = [
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
] as const;

export function limitsOf(use: Use): Record<(typeof LIMITS)[number], number> {
  return {
    statement_timeout: TIMEOUTS_MS[use],
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
  };
}

export function connectionConfig(url: string, use?: Use): ClientConfig {
  return {
    ...(use && driverLimit(use)),
    connectionString: url,
    application_name: 'shortlink-server',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: NUMBERS,
  };
}

export function driverLimit(use: Use): { query_timeout: number } {
  return { query_timeout: TIMEOUTS_MS[use] + SILENCE_MS };
}

/** The database in words for messages: server and database, never user, password or options. */
export function databaseName(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null)
    throw new StoreError('unavailable', 'The address of the database is no URL.');
  const { protocol, host, pathname } = parsed;
  return `${protocol}//${host}${pathname}`;
}

const END_TIMEOUT_MS = 2_000;

/** Waits for connections to end, however they do, but not for long: the system gives up one whose other end has vanished after minutes only. */
export async function endSoon(ending: Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  const timeout = delay(END_TIMEOUT_MS, undefined, { signal: ended.signal });
  await Promise.race([ending, timeout]).catch(() => undefined);
  ended.abort();
  await timeout.catch(() => undefined);
}
