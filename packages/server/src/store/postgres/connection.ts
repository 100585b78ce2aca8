import { type ClientConfig, types } from 'pg';
import { StoreError } from '../store-error.ts';

/** How long a connection may take to come about. */
const CONNECT_TIMEOUT_MS = 3_000;

/** The server stops a statement after this long: no request waits for a lock or a slow disk without end. */
const STATEMENT_TIMEOUT_MS = 15_000;

/** The driver gives a connection up that has not answered for this long, such as one whose other end is gone. */
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2_000;

/**
 * The server ends the session of an instance that holds a transaction open without a word for this long, and with it the
 * locks that others wait for. A process that is paused or cut off holds a job up for at most this time.
 */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000;

/** An idle connection is checked after this long, so that routers in between don't forget it. */
const KEEP_ALIVE_MS = 10_000;

const INT8 = types.builtins.INT8;

/** The driver gives bigint as text, since JavaScript's numbers end at 2^53. Our times, counts and limits stay far below. */
const NUMBERS: ClientConfig['types'] = {
  getTypeParser: (oid, format) =>
    oid === INT8 && format !== 'binary' ? Number : types.getTypeParser(oid, format),
};

/** Settings of every connection of the request pool. */
export function connectionConfig(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: 'shortlink-server',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: NUMBERS,
  };
}

/**
 * The database in words for messages: server and database, never user, password or options.
 *
 * @throws StoreError for what is no URL
 */
export function databaseName(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null)
    throw new StoreError('unavailable', 'The address of the database is no URL.');
  const { protocol, host, pathname } = parsed;
  return `${protocol}//${host}${pathname}`;
}
