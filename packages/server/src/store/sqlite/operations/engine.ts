import type { Engine, StoredLink } from '../../engine.ts';
import { targetNumber } from '../../links.ts';
import { known, sql, sqlText } from '../../queries/reading.ts';
import { hostnameLookup } from '../../writes/insert-links.ts';
import type { Database } from '../database.ts';
import { Counters, takeSlots } from './counters.ts';
import { bucketOf } from './targets.ts';

export interface SqliteEngine extends Engine {
  db: Database;
  /** The counters of the present transaction, which are written at its end. */
  counters: Counters;
}

/** A link that was just inserted by another process makes no difference: its bucket exists already, or is found as soon as it does. */
const BUCKET_OF_NEW_LINK = bucketOf('ifnull((SELECT max(rowid) FROM links), 0)');

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
  for (const row of rows) {
    const { code, id, account_id, domain_id, target_url, title, redirect_type } = row;
    const changed = db.run(sql`
      INSERT INTO links (code, id, account_id, domain_id, target_url, title, redirect_type, is_active, tags, created_at, target_number)
      SELECT ${code}, ${id}, ${account_id}, ${domain_id}, ${target_url}, ${title}, ${redirect_type}, ${row.is_active ? 1 : 0},
        ${JSON.stringify(row.tags)}, ${row.created_at}, ${targetNumber(row)} + ${BUCKET_OF_NEW_LINK}
      WHERE NOT EXISTS (SELECT 1 FROM aliases WHERE domain_id = ${domain_id ?? ''} AND path = ${`/${code}`})
      ON CONFLICT (code) DO NOTHING`);
    if (changed === 1) inserted.add(code);
  }
  return inserted;
}
