import type { Link } from '@shortlink/sdk/wire';
import type { LookupEntry, LookupTarget } from '../../domain/validate-link.ts';
import type { Engine, StoredLink } from '../engine.ts';
import { NO_ID, type ShortUrl, targetNumber } from '../links.ts';
import { begin, methodsOf, storeWrites } from '../methods.ts';
import { type LinkRow, SELECT_LINK, toLink } from '../queries/links.ts';
import { known, rowsOf, sql, sqlText, type Writing } from '../queries/reading.ts';
import { pruneSteps } from '../retention.ts';
import type { Store } from '../store.ts';
import { admissions, Counters, takeSlots } from './counters.ts';
import type { Database } from './database.ts';
import type { Writer } from './writers.ts';

export interface SqliteEngine extends Engine {
  db: Database;
  /** The counters of the present transaction, which are written at its end. */
  counters: Counters;
}

/**
 * What is added to the 32 bits of a target's number, given the `rowid` of the link in SQL. The numbers of a million links that were created one
 * after the other are a bucket, together in the index, so that new links are written to one part of it. A look-up looks into each bucket.
 */
export const bucketOf = (rowid: string) => sqlText(`(${rowid} / 1000000 << 32)`);

/** A link that was just inserted by another process makes no difference: its bucket exists already, or is found as soon as it does. */
const BUCKET_OF_NEW_LINKS = sql`SELECT ${bucketOf('ifnull(max(rowid), 0)')} AS bucket FROM links`;

export const dialect: Pick<Engine, 'table' | 'bytes'> = {
  table: (columns, rows) => {
    const extracted = sqlText(columns.map((name) => `value ->> '${name}' AS ${name}`).join());
    return sql`(SELECT ${extracted} FROM json_each(${JSON.stringify(rows)})) AS listed`;
  },
  bytes: (column) => sqlText(`CAST(${column} AS BLOB)`),
};

export function sqliteEngine(
  parts: Pick<SqliteEngine, 'db' | 'shortUrl' | 'generateCode' | 'isIdle'>,
): SqliteEngine {
  const { db } = parts;
  const engine: SqliteEngine = {
    ...parts,
    counters: new Counters(db),
    hostnames: new Map(),
    locked: sqlText(''),
    unlessLocked: sqlText(''),
    dailyTables: ['key_days'],
    isAlone: true,
    bucket: bucketOf('rowid'),
    clickSlot: 0,
    mayRank: sqlText('true'),
    ...dialect,
    insertRows: (rows) => known(insertRows(db, rows)),
    takeSlots: (...args) => known(takeSlots(engine.counters, ...args)),
  };
  return engine;
}

function insertRows(db: Database, rows: readonly StoredLink[]): Set<string> {
  const inserted = new Set<string>();
  // Not for each row: a statement that reads the table into which it inserts makes a copy of its rows first.
  const { bucket = 0 } = db.get<{ bucket: number }>(BUCKET_OF_NEW_LINKS) ?? {};
  for (const row of rows) {
    const { code, id, account_id, domain_id, target_url, title, redirect_type } = row;
    const changed = db.run(sql`
      INSERT INTO links (code, id, account_id, domain_id, target_url, title, redirect_type, is_active, tags, created_at, target_number)
      SELECT ${code}, ${id}, ${account_id}, ${domain_id}, ${target_url}, ${title}, ${redirect_type}, ${row.is_active ? 1 : 0},
        ${JSON.stringify(row.tags)}, ${row.created_at}, ${targetNumber(row) + bucket}
      WHERE NOT EXISTS (SELECT 1 FROM aliases WHERE domain_id = ${domain_id ?? ''} AND path = ${`/${code}`})
      ON CONFLICT (code) DO NOTHING`);
    if (changed === 1) inserted.add(code);
  }
  return inserted;
}

/** Finds the first bucket and all that exist, by one step in the index for each. */
const BUCKETS = sql`
  WITH RECURSIVE found (bucket) AS (
    SELECT 0
    UNION ALL
    SELECT (SELECT min(target_number) FROM links WHERE target_number >= bucket + (1 << 32)) >> 32 << 32
      FROM found WHERE bucket IS NOT NULL)
  SELECT bucket FROM found WHERE bucket IS NOT NULL`;

/** Rows of one statement for the entries that are read together. Where there are more, each entry is read by itself. */
const MAX_ROWS = 500;

/** Finds the links of each entry, oldest first, in one statement for all. Its numbers are not bound: a bound LIMIT makes SQLite plan again. */
export function linkFinder(
  db: Database,
  shortUrl: ShortUrl,
  account_id: string,
  most: number,
): (entries: readonly LookupEntry[]) => Link[][] {
  const buckets = db.all<{ bucket: number }>(BUCKETS).map(({ bucket }) => bucket);
  const numberOf = (target: LookupTarget) =>
    target.number ?? targetNumber({ ...target, account_id });
  /** The first links of a target after another one. Those of each bucket are read in order. */
  const read = (entry: LookupTarget) => {
    const { target_url, domain_id, after = NO_ID } = entry;
    const number = numberOf(entry);
    return buckets.flatMap((bucket) =>
      db.all<LinkRow>(sql`
        ${SELECT_LINK} WHERE target_number = ${bucket + number} AND id_time >= unhex(${after.slice(0, 13)}, '-') AND link_details.id > ${after}
          AND link_details.account_id = ${account_id} AND domain_id IS ${domain_id} AND target_url = ${target_url}
        ORDER BY id_time, link_details.id LIMIT ${sqlText(String(most))}`),
    );
  };
  return (entries) => {
    const codes = entries.flatMap((entry) => ('code' in entry ? entry.code : []));
    const numbers = entries.flatMap((entry) => ('code' in entry ? [] : numberOf(entry)));
    const withCodes = db.all<LinkRow>(sql`
      ${SELECT_LINK} WHERE code IN (SELECT value FROM json_each(${JSON.stringify(codes)})) AND link_details.account_id = ${account_id}`);
    const rows = db.all<LinkRow>(sql`
      ${SELECT_LINK} WHERE target_number IN (SELECT bucket.value + entry.value
          FROM json_each(${JSON.stringify(buckets)}) AS bucket, json_each(${JSON.stringify(numbers)}) AS entry)
        AND link_details.account_id = ${account_id} LIMIT ${sqlText(String(MAX_ROWS))}`);
    const ofCode = Map.groupBy(withCodes, ({ code }) => code);
    const ofTarget = Map.groupBy(rows, ({ target_url }) => target_url);
    const rowsFor = (entry: LookupEntry) => {
      if ('code' in entry) return ofCode.get(entry.code) ?? [];
      const ofUrl = ofTarget.get(entry.target_url) ?? [];
      const mayBeMore = rows.length === MAX_ROWS || entry.after !== undefined;
      return mayBeMore ? read(entry) : ofUrl.filter((row) => row.domain_id === entry.domain_id);
    };
    return entries.map((entry) => {
      const found = rowsFor(entry).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      return found.slice(0, most).map((row) => toLink(shortUrl, row));
    });
  };
}

const methods = { ...storeWrites, ...admissions };

/** Every write there is, run inside a transaction that is committed by whoever calls it. It throws to be undone. */
const operations = { ...methods, pruneSome, probe };
export type OperationName = keyof typeof operations;

/** The methods that write, each of which is sent to the writer. Arguments and results can be posted between threads. */
export function writesOf(writer: Writer) {
  return methodsOf<Pick<Store, keyof typeof methods>>(methods, (name, args) =>
    writer.submit(name, ...args),
  );
}

export function perform(engine: SqliteEngine, name: OperationName, args: unknown[]): unknown {
  return engine.db.read(begin(operations, engine, name, args));
}

/** Deletes a bounded number of rows, and returns whether there are more. */
function* pruneSome(engine: Engine, now: number): Writing<boolean> {
  let isMore = false;
  for (const step of pruneSteps(now, engine)) if (yield* step()) isMore = true;
  return isMore;
}

/** SQLite writes no page for a row that stays the same, but it does for this number, which nobody uses. To find out whether that can be done. */
function* probe(): Writing<void> {
  yield* rowsOf(sql`PRAGMA user_version = 0`);
}
