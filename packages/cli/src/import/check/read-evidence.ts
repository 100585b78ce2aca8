import type { Journal } from '../journal/journal.ts';
import { madeFor } from '../map/link-identity.ts';
import { type LinkResult, NO_RESPONSE } from '../types.ts';
import { LINK_CONTENT, UNLINKED, UNSETTLED_OTHERS, WITH_LINKS } from './evidence-sql.ts';
import { RowSet } from './row-set.ts';

/** Rows that go into or come out of the database at once: one call for each of millions of rows would be slow. */
export const CHUNK_ROWS = 500;

type Database = Journal['db'];

/** A target to ask the service for: `target_url`, and behind a line feed the domain. */
export interface PairToAsk {
  id: number;
  pair: string;
}

/** What to ask the service for, `size` at once: first the rows without a link, then links that may exist and that no row has. */
export function* readPairs(db: Database, service: number, size: number): Generator<PairToAsk[]> {
  const pages =
    (next: ReturnType<Database['prepare']>, ...values: number[]) =>
    (last: number) =>
      next
        .all(last, ...values, size)
        .map(({ id, pair }) => ({ id: Number(id), pair: String(pair) }));
  for (const page of [pages(db.prepare(UNLINKED)), pages(db.prepare(UNSETTLED_OTHERS), service)]) {
    for (let last = -1; ; ) {
      const found = page(last);
      if (found.length > 0) yield found;
      if (found.length < size) break;
      last = found.at(-1)?.id ?? last;
    }
  }
}

/** Row numbers from a table, of which `from` states a condition too. */
export function readNumbers(db: Database, from: string): RowSet {
  const set = new RowSet();
  const next = db.prepare(
    `SELECT json_group_array(number) AS numbers FROM (SELECT number FROM ${from} AND number > ? ORDER BY number LIMIT ${CHUNK_ROWS})`,
  );
  for (let last = -1; ; ) {
    const numbers: number[] = JSON.parse(String(next.get(last)?.['numbers']));
    for (const number of numbers) set.add(number);
    if (numbers.length < CHUNK_ROWS) return set;
    last = numbers.at(-1) ?? last;
  }
}

/** The states of the matched rows, in the order of the input, each with the cell `made_for`. */
export function* readMatches(db: Database): Generator<LinkResult & { made_for: string }> {
  for (const [, key, content, code, short_url, error] of matchedRows(db)) {
    const made_for = madeFor({ key: Number(key), content: Number(content) });
    yield typeof short_url === 'string'
      ? { status: 'created', code: String(code ?? ''), short_url, made_for }
      : { status: 'unknown', error: String(error ?? NO_RESPONSE), made_for };
  }
}

/** The matched rows, the number first. */
function* matchedRows(db: Database): Generator<unknown[]> {
  const next = db.prepare(`
    SELECT json_group_array(json_array(number, coalesce(our_link.key, known.key), ${LINK_CONTENT},
      coalesce(our_link.code, known.code), coalesce(our_link.short_url, known.short_url),
      coalesce(our_link.error, batch.error, 'accepted as job ' || batch.job || ', whose end was not seen', known.error))) AS rows
    FROM (SELECT * FROM temp.match WHERE number > ? ORDER BY number LIMIT ${CHUNK_ROWS}) AS match
    ${WITH_LINKS} LEFT JOIN batch ON batch.id = our_link.batch`);
  for (let last: unknown = -1, rows: unknown[][] = []; ; ) {
    rows = JSON.parse(String(next.get(Number(last))?.['rows']));
    yield* rows;
    if (rows.length < CHUNK_ROWS) return;
    last = rows.at(-1)?.[0];
  }
}
