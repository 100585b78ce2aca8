import type { QueryResultRow } from 'pg';
import {
  type Reading,
  readAsync,
  type SqlValue,
  type Statement,
  type Writing,
} from '../queries/reading.ts';

/** A value that a statement of this engine is given. */
type PostgresValue = SqlValue | boolean | readonly PostgresValue[];

export type PostgresStatement = Statement<PostgresValue>;

/** What statements are run on: a transaction, or a connection of the pool per statement. */
export interface Session {
  /** All rows, in the order of the statement. */
  all<R extends QueryResultRow>(statement: PostgresStatement): Promise<R[]>;
  /** The first row. */
  get<R extends QueryResultRow>(statement: PostgresStatement): Promise<R | undefined>;
  /** The number of rows that were written. */
  run(statement: PostgresStatement): Promise<number>;
  /**
   * Carries out a reading (see `store/queries/`). Readings compare texts for equality, and no text of the database holds U+0000,
   * which PostgreSQL would reject: nothing is found then.
   */
  read<T>(reading: Reading<T>): Promise<T>;
  /** Carries out a writing (see `store/operators.ts`). A text with U+0000 rejects. */
  write<T>(writing: Writing<T>): Promise<T>;
}

/** Runs one statement. The caller names the columns beside its SQL. */
export type Execute = <R extends QueryResultRow>(
  statement: PostgresStatement,
) => Promise<{ rows: R[]; rowCount: number | null }>;

/** Makes a {@link Session} of a function that runs statements. */
export function sessionOn(execute: Execute): Session {
  const all = async <R extends QueryResultRow>(statement: PostgresStatement) =>
    (await execute<R>(statement)).rows;
  const hasNul = (value: SqlValue) => typeof value === 'string' && value.includes('\0');
  return {
    all,
    get: async <R extends QueryResultRow>(statement: PostgresStatement) =>
      (await execute<R>(statement)).rows[0],
    run: async (statement) => (await execute(statement)).rowCount ?? 0,
    read: (reading) =>
      readAsync(reading, async (statement) =>
        statement.values.some(hasNul) ? [] : all(statement),
      ),
    write: (writing) => readAsync(writing, all),
  };
}

/** The name of a prepared statement, and its text as PostgreSQL wants it. */
export interface Prepared {
  name: string;
  text: string;
}

/**
 * A name for each text of a statement, so that a connection parses and plans it once. Our statements are constants, a few dozen, so the
 * map stays small.
 */
export function preparedStatements(): (sql: string) => Prepared {
  const known = new Map<string, Prepared>();
  return (sql) => {
    let prepared = known.get(sql);
    if (prepared === undefined) {
      prepared = { name: `sl_${known.size}`, text: toPostgres(sql) };
      known.set(sql, prepared);
    }
    return prepared;
  };
}

/** The text of a statement as PostgreSQL wants it: `?` becomes `$1`, `$2` and so on. */
export function toPostgres(text: string): string {
  let number = 0;
  return text.replace(/\?/g, () => {
    number += 1;
    return `$${number}`;
  });
}
