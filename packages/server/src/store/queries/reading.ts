/** A value that a statement is given for a `?`. */
export type ReadValue = string | number | null | Uint8Array;

/** A statement that only reads, in SQL that both engines run. */
export interface ReadStatement {
  sql: string;
  values: readonly ReadValue[];
}

/**
 * A read of one or more statements. It yields each statement and receives its rows, so that the same code reads from SQLite, which
 * responds at once, and from PostgreSQL, which has to be waited for.
 */
export type Reading<T> = Generator<ReadStatement, T, readonly object[]>;

/** The same for statements that write, all in one transaction. */
export type Writing<T> = Reading<T>;

/** The rows of a statement, as the columns that it selects. */
export function* rowsOf<Row extends object = object>(
  sql: string,
  ...values: ReadValue[]
): Reading<Row[]> {
  // Drivers don't know the types of columns; the schema vouches for them.
  return (yield { sql, values }) as Row[];
}

/** The first row of a statement. */
export function* rowOf<Row extends object = object>(
  sql: string,
  ...values: ReadValue[]
): Reading<Row | undefined> {
  const [row] = yield* rowsOf<Row>(sql, ...values);
  return row;
}

/** Carries out a reading on an engine that responds at once. */
export function read<T>(reading: Reading<T>, run: (statement: ReadStatement) => object[]): T {
  let step = reading.next();
  while (!step.done) step = reading.next(run(step.value));
  return step.value;
}

/** Carries out a reading on an engine that has to be waited for. */
export async function readAsync<T>(
  reading: Reading<T>,
  run: (statement: ReadStatement) => Promise<object[]>,
): Promise<T> {
  let step = reading.next();
  while (!step.done) step = reading.next(await run(step.value));
  return step.value;
}
