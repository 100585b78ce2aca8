import type { Engine, StoredLink } from '../engine.ts';
import { targetNumber } from '../links.ts';
import { begin, methodsOf, storeWrites } from '../methods.ts';
import { known, rowsOf, sql, sqlText, type Writing } from '../queries/reading.ts';
import { pruneSteps } from '../retention.ts';
import type { Store } from '../store.ts';
import { hostnameLookup } from '../writes/insert-links.ts';
import { admissions, Counters, takeSlots } from './counters.ts';
import type { Database } from './database.ts';
import { bucketOf } from './targets.ts';
import type { Writer } from './writers.ts';

export interface SqliteEngine extends Engine {
  db: Database;
  /** The counters of the present transaction, which are written at its end. */
  counters: Counters;
}

/** A link that was just inserted by another process makes no difference: its bucket exists already, or is found as soon as it does. */
const BUCKET_OF_NEW_LINKS = sql`SELECT ${bucketOf('ifnull(max(rowid), 0)')} AS bucket FROM links`;

export const table: Engine['table'] = (columns, rows) => {
  const extracted = sqlText(columns.map((name) => `value ->> '${name}' AS ${name}`).join());
  return sql`(SELECT ${extracted} FROM json_each(${JSON.stringify(rows)})) AS listed`;
};

export function sqliteEngine(
  parts: Pick<SqliteEngine, 'db' | 'shortUrl' | 'generateCode' | 'isIdle'>,
): SqliteEngine {
  const { db } = parts;
  const engine: SqliteEngine = {
    ...parts,
    counters: new Counters(db),
    hostnameOf: hostnameLookup(),
    locked: sqlText(''),
    unlessLocked: sqlText(''),
    dailyTables: ['key_days'],
    title: (column) => sqlText(`${column} ->> '$'`),
    isAlone: true,
    bucket: bucketOf('rowid'),
    clickSlot: 0,
    mayRank: sqlText('true'),
    table,
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
