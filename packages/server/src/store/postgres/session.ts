import type { QueryResultRow } from 'pg';

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
