import { isLink, type JournalLink } from '../journal/batches.ts';
import type { Journal } from '../journal/journal.ts';
import { type LinkIdentity, madeNumber, writeMadeFor } from '../map/link-identity.ts';
import { type Existing, type LinkResult, type MadeResult, NO_RESPONSE } from '../types.ts';
import * as sql from './evidence-sql.ts';
import { RowSet } from './row-set.ts';

/** All rows at once would not fit into memory. */
const PAGE_ROWS = 5_000;

/** How the rows of the input compare with the links that exist. */
export interface Comparison extends Existing {
  /** Rows whose link something else than their own cells knows, or may know. */
  matched: RowSet;
  /** Rows whose cells name a link that is not theirs: they were copied, or their target was edited. */
  disowned: RowSet;
  /** Of these, rows whose cells name the link of another row. */
  copied: RowSet;
  /** Rows whose target was edited, and in words the first of them with the short URL that leads to the old one. */
  former: ReturnType<typeof readFirst>;
  /** Whether there are any, or such that have another link. An operator may have corrected those that they name. */
  hasFormer: boolean;
  /** Rows whose link may exist. */
  unknown: number;
  /** Existing rows that got their link in this run: it is new, or was in doubt before. */
  created: number;
  usesKnown: boolean;
}

type Database = Journal['db'];

/** The rows of a statement with the last number so far and a limit. */
function* pages(db: Database, query: string, size: number) {
  const next = db.prepare(query);
  for (let last = -1; ; ) {
    const rows = next.all(last, size);
    if (rows.length > 0) yield rows;
    if (rows.length < size) return;
    last = Number(rows.at(-1)?.['number']);
  }
}

/** The pairs to ask the service for: of rows, then of links that may exist and that no row has. */
export function* readPairs(db: Database, size: number): Generator<string[]> {
  for (const query of [sql.TO_ASK, sql.UNSETTLED_OTHERS]) {
    for (const rows of pages(db, query, size)) yield rows.map(({ pair }) => String(pair));
  }
}

/** `from` is a table with a condition. */
export function readNumbers(db: Database, from: string, isAny = true): RowSet {
  const set = new RowSet();
  const query = `SELECT number FROM ${from} AND number > ? ORDER BY number LIMIT ?`;
  for (const rows of isAny ? pages(db, query, PAGE_ROWS) : []) {
    for (const { number } of rows) set.add(Number(number));
  }
  return set;
}

interface HowToMatch {
  /** Whether rows name their links themselves. */
  hasOwn: boolean;
  /** Whether something says of links that they may exist. */
  hasDoubts: boolean;
  /** Whether rows have links that could be theirs. */
  isReused: boolean;
  /** Gets the numbers of links that lead to other targets by now. Undefined where nobody was asked. */
  elsewhere: Set<number> | undefined;
}

/** Gives each row its own link, if there is one. */
function matchRows(db: Database, how: HowToMatch): void {
  const { hasDoubts, isReused, elsewhere } = how;
  db.exec('DELETE FROM temp.match');
  db.exec(sql.MATCH_SINGLE);
  db.exec(sql.UNMATCH_OTHERS);
  const match = (columns: string, where: string, links?: string) =>
    db.exec(sql.matchBy(columns, where, links));
  const left = db.prepare('SELECT 1 FROM free_link WHERE id NOT IN (SELECT link FROM temp.match)');
  if (left.get() !== undefined) {
    for (const columns of ['key, pair, content', 'key, pair, words', 'key, pair'])
      match(columns, sql.CERTAIN);
    const isAsked = `source = ${sql.KNOWN_BY.service}`;
    // A row whose title was edited meanwhile says what its link was asked for with.
    if (hasDoubts) match('key, pair, made_with', isAsked);
    match('key, pair, content', isAsked);
    match('key, pair, words', isAsked);
    if (isReused) {
      match('key, pair, words', `NOT (${sql.CERTAIN})`);
      match('key, pair', `NOT (${sql.CERTAIN})`);
    }
  }
  if (hasDoubts) {
    db.exec(sql.DROP_KNOWN_DOUBTS);
    db.exec('INSERT INTO temp.match SELECT of_row, id FROM temp.link WHERE of_row IS NOT NULL');
    match('key, pair', isReused ? 'TRUE' : sql.CERTAIN, 'doubtful_link');
  }
  const found = elsewhere === undefined ? [] : db.prepare(sql.DROP_ELSEWHERE).all();
  for (const { id } of found) elsewhere?.add(Number(id));
  if (found.length > 0) matchRows(db, { ...how, elsewhere: undefined });
}

export function compareRows(db: Database, how: HowToMatch, firstNewLink: number) {
  const { hasOwn } = how;
  if (hasOwn) for (const step of sql.OWN_LINKS) db.exec(step);
  matchRows(db, how);
  const counts = db.prepare(sql.COUNTS).get(firstNewLink) ?? {};
  const changed = db.prepare(sql.CHANGED).all();
  const gone = counts['gone'] === 0 ? [] : db.prepare(sql.GONE).all();
  return {
    matched: readNumbers(db, 'temp.match WHERE link IS NOT NULL'),
    disowned: readNumbers(db, 'temp.row WHERE named IS NOT NULL', hasOwn),
    copied: readNumbers(db, sql.COPIED, hasOwn),
    former: readFirst(db, sql.FORMER, hasOwn),
    hasFormer: counts['has_former'] === 1,
    existing: Number(counts['existing']) + Number(counts['own']),
    unknown: Number(counts['unknown']),
    changed: Number(changed[0]?.['changed'] ?? 0),
    changedLines: changed.map(({ line }) => Number(line)),
    gone: Number(counts['gone']),
    goneLinks: gone.map(({ short_url }) => String(short_url)),
    created: Number(counts['created']),
    usesKnown: counts['uses_known'] === 1,
  } satisfies Omit<Comparison, 'new'>;
}

/** How many rows of a kind there are, and the first ones in words. */
export function readFirst(db: Database, query: string, isAny = true) {
  const found = isAny ? db.prepare(query).all() : [];
  const lines = Number(found[0]?.['lines'] ?? 0);
  const shown = found.map(({ line, short_url }) => `line ${line}: ${short_url}`);
  return { lines, first: shown.join(', ') + (lines > shown.length ? ', …' : '') };
}

/** Reads the states of the matched rows, in the order of the input. */
export function* readMatches(db: Database): Generator<MadeResult> {
  for (const rows of pages(db, sql.MATCHED, PAGE_ROWS)) {
    for (const row of rows) {
      const { key, content, short_url, made } = row;
      const ofRow = madeNumber({ key: Number(key), content: Number(content) });
      const isDoubt = short_url === null && made !== null;
      yield { ...resultOf(row), made_for: writeMadeFor(isDoubt ? Number(made) : ofRow) };
    }
  }
}

function resultOf({ code, short_url, error }: Record<string, unknown>): LinkResult {
  if (typeof short_url !== 'string')
    return { status: 'unknown', error: String(error ?? NO_RESPONSE) };
  const end = short_url.slice(short_url.lastIndexOf('/') + 1);
  return { status: 'created', code: String(code ?? end), short_url };
}

/** Reads links as the journal records them. */
export function* readLinks(db: Database, query: string): Generator<LinkIdentity & LinkResult> {
  for (const row of db.prepare(query).iterate()) {
    const { key, content, pair } = row;
    const identity = { key: Number(key), content: Number(content), pair: String(pair) };
    yield { ...identity, ...resultOf(row) };
  }
}

/** A link as the table of links has it. */
export function valuesOf(link: JournalLink, wasOpen: boolean, wasDoubted = false): SqlValues {
  const { number, key, content, pair, result } = link;
  const known =
    result?.status === 'created'
      ? [result.code, result.short_url, null]
      : [null, null, result?.error ?? null];
  const made = wasOpen || wasDoubted || known[1] === null ? madeNumber(link) : null;
  return [number, isLink(link) ? 0 : -1, key, content, pair, ...known, null, made, wasOpen ? 1 : 0];
}

/** One call for each of millions of rows would be slow. */
const CHUNK_ROWS = 500;

export type SqlValues = readonly (string | number | null)[];

/** Gathers rows for a table. Binding values takes a quarter of the time of JSON that the database reads. */
export class RowBuffer {
  readonly #db: Database;
  readonly #table: string;
  readonly #inserts = new Map<number, ReturnType<Database['prepare']>>();
  #rows: SqlValues[] = [];

  constructor(db: Database, table: string) {
    this.#db = db;
    this.#table = table;
  }

  add(values: SqlValues): void {
    this.#rows.push(values);
    if (this.#rows.length === CHUNK_ROWS) this.flush();
  }

  flush(): void {
    const rows = this.#rows;
    if (rows.length === 0) return;
    const places = () => rows.map((row) => `(${row.map(() => '?').join()})`).join();
    const insert =
      this.#inserts.get(rows.length) ??
      this.#db.prepare(`INSERT INTO ${this.#table} VALUES ${places()}`);
    this.#inserts.set(rows.length, insert);
    insert.run(...rows.flat());
    this.#rows = [];
  }
}
