import { type Statement, sql, sqlList, sqlText } from '../queries/reading.ts';

export type Run = (statement: Statement) => Promise<object[]>;

/** The same for reads. They compare texts for equality, and none of the database holds U+0000, which PostgreSQL would reject: nothing is found. */
export function withoutNul(run: Run): Run {
  const hasNul = (value: unknown) => typeof value === 'string' && value.includes('\0');
  return async (statement) => (statement.values.some(hasNul) ? [] : run(statement));
}

const known = new Map<string, { name: string; text: string }>();

/** A statement for PostgreSQL, and a name, so that a connection plans it once. Our statements are constants, a few dozen. */
export function prepared(sql: string): { name: string; text: string } {
  const named = known.get(sql) ?? { name: `sl_${known.size}`, text: toPostgres(sql) };
  known.set(sql, named);
  return named;
}

/** The text of a statement as PostgreSQL wants it: `?` becomes `$1`, `$2` and so on. */
export function toPostgres(text: string): string {
  return text.split('?').reduce((before, after, number) => `${before}$${number}${after}`);
}

/** JSON writes most texts alike, and faster: only its other escapes are not those of PostgreSQL. */
export function arrayOf(values: readonly unknown[]): string {
  if (values.every((value) => typeof value === 'string')) {
    const json = JSON.stringify(values);
    if (!/\\[^"\\]/.test(json)) return `{${json.slice(1, -1)}}`;
  }
  const texts = values.map((value) =>
    typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value ?? 'NULL'),
  );
  return `{${texts.join()}}`;
}

/** A table of rows, called `listed`, whose columns have these types. */
export function listOf(
  types: Readonly<Record<string, string>>,
  rows: readonly object[],
): Statement {
  const columns = Object.entries(types).map(
    ([name, type]) =>
      sql`${arrayOf(rows.map((row) => Reflect.get(row, name)))}::${sqlText(type)}[]`,
  );
  return sql`unnest(${sqlList(columns)}) AS listed (${sqlText(Object.keys(types).join())})`;
}
