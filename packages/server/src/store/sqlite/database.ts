import process from 'node:process';
import { type Reading, read, type SqlValue, type Statement } from '../queries/reading.ts';
import { type KnownFailure, StoreError, storeErrorOf } from '../store-error.ts';

export const BUSY_TIMEOUT_MS = 5_000;

/** Page cache of a connection, in KiB. Random codes touch random pages of the unique index, so it should hold most of it. */
const CACHE_KIB = 32 * 1024;

/** What is used of a driver. Its errors have SQLite's result code as `errcode`, where it knows that. */
export interface SqliteConnection {
  exec: (sql: string) => void;
  prepare: (sql: string) => SqliteStatement;
  close: () => void;
}

interface SqliteStatement {
  all: (...values: SqlValue[]) => unknown[];
  run: (...values: SqlValue[]) => { changes: number | bigint };
}

export type Connect = (path: string, options: { readOnly: boolean }) => SqliteConnection;

export interface DatabaseOptions {
  path: string;
  connect?: Connect | undefined;
  busyTimeoutMs?: number | undefined;
  /** Rejects every write on this connection. @default false */
  readOnly?: boolean | undefined;
  /** What a new connection begins with, and where that fails, isn't opened. @default nothing */
  prepare?: ((db: Database) => void) | undefined;
}

/** One connection to SQLite. Statements are prepared once and kept, so their texts must be constants. Every failure is a `StoreError`. */
export class Database {
  readonly path: string;
  readonly #connection: SqliteConnection;
  readonly #statements = new Map<string, SqliteStatement>();
  #closed = false;

  constructor(options: DatabaseOptions) {
    const { path, connect = toNode, prepare, busyTimeoutMs = BUSY_TIMEOUT_MS } = options;
    this.path = path;
    this.#connection = this.#guard(() => connect(path, { readOnly: options.readOnly ?? false }));
    try {
      this.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}; PRAGMA foreign_keys = ON;
        PRAGMA cache_size = -${CACHE_KIB}`);
      prepare?.(this);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** The first row, as the columns that the statement selects. */
  get<Row extends object>(statement: Statement): Row | undefined {
    return this.all<Row>(statement)[0];
  }

  all<Row extends object>({ text, values }: Statement): Row[] {
    // The driver types rows as unknown columns; the STRICT tables of our own schema vouch for their types.
    return this.#guard(() => this.#prepare(text).all(...values) as Row[]);
  }

  /** Carries out statements that are written for both engines (see `store/queries/reading.ts`). */
  read<T>(reading: Reading<T>): T {
    return read(reading, (statement) => this.all(statement));
  }

  run({ text, values }: Statement): number {
    return this.#guard(() => Number(this.#prepare(text).run(...values).changes));
  }

  exec(sql: string): void {
    this.#guard(() => this.#connection.exec(sql));
  }

  /** Reads of `work` see one snapshot, whatever is committed meanwhile. */
  snapshot<T>(work: () => T): T {
    this.exec('BEGIN');
    try {
      return work();
    } finally {
      this.exec('COMMIT');
    }
  }

  /** Ends a transaction without its changes. After some failures, a full disk for one, SQLite has done so itself. */
  rollback(): void {
    try {
      this.#connection.exec('ROLLBACK');
    } catch {
      // SQLite has ended the transaction already.
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#statements.clear();
    this.#guard(() => this.#connection.close());
    this.#closed = true;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #prepare(sql: string): SqliteStatement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#connection.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #guard<T>(work: () => T): T {
    if (this.#closed) throw new StoreError('closed', `The database ${this.path} was closed.`);
    try {
      return work();
    } catch (error) {
      throw toStoreError(error, this.path);
    }
  }
}

/** Connects with the driver, which is loaded when it is first needed. */
const toNode: Connect = (path, options) => {
  const driver = loadDriver();
  if (driver !== undefined) return new driver.DatabaseSync(path, options);
  throw new Error(
    'This runtime has no `node:sqlite`, which is in Node since 22.13. `startPageService` of @shortlink/server/browser runs without it.',
  );
};

/** Node 22 prints an ExperimentalWarning when `node:sqlite` is loaded, as the first line of every command. This keeps back that one alone. */
function loadDriver(): typeof import('node:sqlite') | undefined {
  const emitWarning = process.emitWarning;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  try {
    return process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** SQLite's primary result codes that say something about the database (https://www.sqlite.org/rescode.html). */
const REASONS: ReadonlyMap<number, KnownFailure> = new Map([
  [5, ['busy', 'is held by another process']],
  [6, ['busy', 'is held by another connection']],
  [8, ['read_only', 'can be read, but not written']],
  [10, ['unavailable', 'can not be read or written (disk I/O error)']],
  [11, ['corrupt', 'is damaged']],
  [13, ['full', 'can not grow: no space is left']],
  [14, ['unavailable', 'can not be opened: it must be a readable file in a writable folder']],
  [26, ['corrupt', 'is not an SQLite database']],
]);

export function toStoreError(error: unknown, path: string): StoreError {
  // The low byte is the primary code; the rest refines it.
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;
  return storeErrorOf(error, path, REASONS.get(code));
}
