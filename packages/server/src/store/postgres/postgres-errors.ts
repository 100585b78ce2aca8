import { DatabaseError } from 'pg';
import { type KnownFailure, type StoreError, storeErrorOf } from '../store-error.ts';

/** SQLSTATEs that say something about the database (https://www.postgresql.org/docs/current/errcodes-appendix.html). The longest match counts. */
const REASONS: ReadonlyMap<string, KnownFailure> = new Map([
  ['08', ['unavailable', 'broke the connection off']],
  ['22021', ['invalid', 'can not store text with U+0000']],
  ['22P05', ['invalid', 'can not store text with U+0000']],
  ['25006', ['read_only', 'can be read, but not written']],
  ['25P03', ['unavailable', 'ended a transaction that was idle for too long']],
  // A role or a database may have such a limit since PostgreSQL 17.
  ['25P04', ['busy', 'ended a transaction that took too long']],
  ['28', ['unavailable', 'refuses the user or the password']],
  ['3D000', ['unavailable', 'does not exist']],
  ['40', ['busy', 'could not order simultaneous writes']],
  ['53300', ['busy', 'has no connection left for this process']],
  ['53100', ['full', 'can not grow: no space is left']],
  ['53', ['unavailable', 'has no connections or memory left']],
  ['55000', ['unavailable', 'accepts no connections']],
  ['55P03', ['busy', 'is held by another connection']],
  ['57014', ['busy', 'took too long']],
  ['57P', ['unavailable', 'is stopping or starting']],
  ['58', ['unavailable', 'can not read or write its files']],
  ['XX001', ['corrupt', 'is damaged']],
  ['XX002', ['corrupt', 'is damaged']],
]);

const SESSION_ENDED = /^(?:08|57P|25P03)/;

/** What the driver says of a connection that is gone or never came about, where it gives no code. */
const LOST_MESSAGES =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Client was closed|timeout expired)/;

const hasCode =
  (...codes: string[]) =>
  (error: unknown) =>
    error instanceof DatabaseError && codes.includes(error.code ?? '');

/** The transaction was rolled back because of others that ran at the same time; the same may pass now. */
export const isConflict = hasCode('40001', '40P01');

/** Another transaction held a lock for longer than the statement may wait. */
export const isLockTimeout = hasCode('55P03');

/** The statement was rejected, since the node that it was sent to only reads (any more). */
export const isReadOnly = hasCode('25006');

/** PostgreSQL or PgBouncer has as many connections as it takes, of everybody or of our user. Those that we have continue to work. */
export function isRefused(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return error.code === '53300' || error.message.startsWith('no more connections allowed');
}

/** Whether a connection is lost: its session ended, it is silent, or it leads to a node that only reads. What was not committed is undone. */
export function isConnectionLost(error: unknown): boolean {
  if (isReadOnly(error)) return true;
  if (error instanceof DatabaseError) return SESSION_ENDED.test(error.code ?? '');
  if (!(error instanceof Error)) return false;
  // Node gives one error for all addresses of a host name that were tried.
  const failed = error instanceof AggregateError ? error.errors[0] : error;
  // During the TLS handshake, Node names no system call.
  const isReset = 'code' in failed && failed.code === 'ECONNRESET';
  return 'syscall' in failed || isReset || LOST_MESSAGES.test(error.message);
}

/** No password is in the name of the database. */
export const toStoreError = (error: unknown, name: string): StoreError =>
  storeErrorOf(error, name, failureOf(error));

function failureOf(error: unknown): KnownFailure | undefined {
  if (error instanceof DatabaseError) {
    const code = isRefused(error) ? '53300' : (error.code ?? '');
    if (code === '42P01') return ['unavailable', `lacks a table: ${error.message}`];
    return REASONS.get(code) ?? REASONS.get(code.slice(0, 3)) ?? REASONS.get(code.slice(0, 2));
  }
  if (!isConnectionLost(error)) return undefined;
  const detail = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
  return ['unavailable', `can not be reached${detail}`];
}
