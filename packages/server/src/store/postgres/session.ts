import type { QueryResultRow } from 'pg';
import type { ReadStatement } from '../queries/reading.ts';

/** A value that a statement is given. */
export type SqlValue = string | number | boolean | null | Uint8Array | readonly SqlValue[];

/** What statements are run on: a transaction, or a connection of the pool per statement. */
export interface Session {
  /** All rows, in the order of the statement. */
  all<R extends QueryResultRow>(sql: string, ...values: SqlValue[]): Promise<R[]>;
  /** The first row. */
  get<R extends QueryResultRow>(sql: string, ...values: SqlValue[]): Promise<R | undefined>;
  /** The number of rows that were written. */
  run(sql: string, ...values: SqlValue[]): Promise<number>;
}

/** Runs one statement. The caller names the columns beside its SQL. */
export type Execute = <R extends QueryResultRow>(
  sql: string,
  values: readonly SqlValue[],
) => Promise<{ rows: R[]; rowCount: number | null }>;

/** Dresses a function that runs statements as a {@link Session}. */
export function sessionOn(execute: Execute): Session {
  return {
    all: async <R extends QueryResultRow>(sql: string, ...values: SqlValue[]) =>
      (await execute<R>(sql, values)).rows,
    get: async <R extends QueryResultRow>(sql: string, ...values: SqlValue[]) =>
      (await execute<R>(sql, values)).rows[0],
    run: async (sql, ...values) => (await execute(sql, values)).rowCount ?? 0,
  };
}

/**
 * Runs statements of a reading (see `store/queries/`). They compare texts for equality, and no text of the database holds U+0000,
 * which PostgreSQL would reject: nothing is found then.
 */
export function readingOn(session: Session): (statement: ReadStatement) => Promise<object[]> {
  return async ({ sql, values }) => {
    if (values.some((value) => typeof value === 'string' && value.includes('\0'))) return [];
    return session.all(sql, ...values);
  };
}

/** Runs statements of a writing (see `store/operators.ts`). A text with U+0000 rejects. */
export function writingOn(session: Session): (statement: ReadStatement) => Promise<object[]> {
  return ({ sql, values }) => session.all(sql, ...values);
}

/** The name of a prepared statement, and its text as PostgreSQL wants it. */
export interface Prepared {
  name: string;
  text: string;
}

/**
 * A name for each text of a statement, so that a connection parses and plans it once; `?` becomes `$1`, `$2` and so on. Our
 * statements are constants, a few dozen, so the map stays small.
 */
export function preparedStatements(): (sql: string) => Prepared {
  const known = new Map<string, Prepared>();
  return (sql) => {
    let prepared = known.get(sql);
    if (prepared === undefined) {
      let place = 0;
      const text = sql.replace(/\?/g, () => {
        place += 1;
        return `$${place}`;
      });
      prepared = { name: `sl_${known.size}`, text };
      known.set(sql, prepared);
    }
    return prepared;
  };
}
