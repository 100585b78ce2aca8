export type SqlValue = string | number | null | Uint8Array;

/** A statement. Each `?` in its text stands for one of the values, in order. */
export interface Statement {
  text: string;
  values: readonly SqlValue[];
}

/** Makes a statement: a value becomes a `?`, so that none is ever read as SQL. A statement becomes a part of the text, with its own values. */
export function sql(
  texts: TemplateStringsArray,
  ...parts: readonly (SqlValue | Statement)[]
): Statement {
  const pieces: string[] = [];
  const values: SqlValue[] = [];
  for (const part of parts) {
    if (isStatement(part)) {
      pieces.push(part.text);
      values.push(...part.values);
    } else {
      pieces.push('?');
      values.push(part);
    }
  }
  const last = lastTexts.get(texts);
  if (last?.pieces.every((piece, index) => piece === pieces[index])) {
    return { text: last.text, values };
  }
  const text = String.raw({ raw: texts }, ...pieces);
  lastTexts.set(texts, { pieces, text });
  return { text, values };
}

/** The last text of each place in our code, so that a statement that runs thousands of times a second is joined once. */
const lastTexts = new WeakMap<TemplateStringsArray, { pieces: readonly string[]; text: string }>();

function isStatement(part: SqlValue | Statement): part is Statement {
  return typeof part === 'object' && part !== null && 'text' in part;
}

/** A text that is part of statements and has no value, such as the name of a table. */
export function sqlText(text: string): Statement {
  return { text, values: [] };
}

/** Statements as one list, such as that of `IN` or `VALUES`. */
export function sqlList(statements: readonly Statement[]): Statement {
  return {
    text: statements.map(({ text }) => text).join(', '),
    values: statements.flatMap(({ values }) => values),
  };
}

/** A read. It yields each statement and receives its rows: SQLite's responds at once, PostgreSQL's has to be waited for. */
export type Reading<T> = Generator<Statement, T, readonly object[]>;

/** The same for statements that write, all in one transaction. */
export type Writing<T> = Reading<T>;

/** A reading whose result is known already. It is no generator, which would cost more than many a result. */
export function known<T>(result: T): Reading<T> {
  const end = { value: result, done: true };
  const reading = { next: () => end, [Symbol.iterator]: () => reading };
  return reading as unknown as Reading<T>;
}

/** The rows of a statement, as the columns that it selects. */
export function* rowsOf<Row extends object = object>(statement: Statement): Reading<Row[]> {
  // Drivers don't know the types of columns; the schema vouches for them.
  return (yield statement) as Row[];
}

export function* rowOf<Row extends object = object>(
  statement: Statement,
): Reading<Row | undefined> {
  const [row] = yield* rowsOf<Row>(statement);
  return row;
}

/** Carries out a reading on an engine that responds at once. */
export function read<T>(reading: Reading<T>, run: (statement: Statement) => object[]): T {
  let step = reading.next();
  while (!step.done) step = reading.next(run(step.value));
  return step.value;
}

/** Carries out a reading on an engine that has to be waited for. */
export async function readAsync<T>(
  reading: Reading<T>,
  run: (statement: Statement) => Promise<object[]>,
): Promise<T> {
  let step = reading.next();
  while (!step.done) step = reading.next(await run(step.value));
  return step.value;
}
