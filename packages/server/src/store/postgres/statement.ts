import type { Statement } from '../queries/reading.ts';

/** Runs one statement and returns its rows. */
export type Run = (statement: Statement) => Promise<object[]>;

/**
 * The same for statements that only read. They compare texts for equality, and no text of the database holds U+0000, which PostgreSQL would
 * reject: nothing is found then.
 */
export function withoutNul(run: Run): Run {
  return async (statement) => (statement.values.some(hasNul) ? [] : run(statement));
}

function hasNul(value: unknown): boolean {
  return typeof value === 'string' && value.includes('\0');
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

/** A value for an array of ids or numbers: their texts need no other escapes than those of JSON. */
export function arrayOf(values: readonly (string | number)[]): string {
  return `{${JSON.stringify(values).slice(1, -1)}}`;
}
