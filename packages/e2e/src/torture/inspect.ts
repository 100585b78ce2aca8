import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';

/** The contents of the database. */
export interface Inspection {
  integrity: string;
  links: number;
  /** Links that share their target URL. Each target URL is requested once, so there must be none. */
  doubled: number;
  /** Quota slots in use, those reserved by unfinished jobs included. */
  places: number;
  /** Links that unfinished jobs must still create. */
  outstanding: number;
  clicks: number;
  /** Target URLs of the existing links, by code. */
  targetsOf: (codes: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  /** The given target URLs that have a link. */
  storedOf: (targets: readonly string[]) => Promise<string[]>;
  close: () => Promise<void>;
}

/** Opens the database without any code of the server. */
export function inspect(database: string): Promise<Inspection> {
  return database.startsWith('sqlite:')
    ? inspectSqlite(database.slice('sqlite:'.length))
    : inspectPostgres(database);
}

const DOUBLED = 'SELECT count(*) - count(DISTINCT target_url) FROM links';
const CLICKS = 'SELECT coalesce(sum(clicks), 0) FROM link_clicks';
const OUTSTANDING = 'SELECT coalesce(sum(total - processed), 0) FROM jobs';

/** No server may have the file open. */
async function inspectSqlite(path: string): Promise<Inspection> {
  const db = new DatabaseSync(path);
  const one = (sql: string) => Object.values(db.prepare(sql).get() ?? {})[0];
  const byCode = db.prepare('SELECT target_url FROM links WHERE code = ?');
  return {
    integrity: String(one('PRAGMA integrity_check')),
    links: Number(one('SELECT count(*) FROM links')),
    doubled: Number(one(DOUBLED)),
    places: Number(one('SELECT sum(used) FROM link_totals')),
    outstanding: Number(one(OUTSTANDING)),
    clicks: Number(one(CLICKS)),
    targetsOf: async (codes) => {
      const found = new Map<string, string>();
      for (const code of codes) {
        const target = byCode.get(code)?.['target_url'];
        if (target !== undefined) found.set(code, String(target));
      }
      return found;
    },
    storedOf: async (targets) =>
      db
        .prepare(
          'SELECT target_url FROM links WHERE target_url IN (SELECT value FROM json_each(?))',
        )
        .all(JSON.stringify(targets))
        .map((row) => String(row['target_url'])),
    close: async () => db.close(),
  };
}

/** Sessions of killed servers may end a moment later, so everything is read in one snapshot. */
async function inspectPostgres(url: string): Promise<Inspection> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const rows = async (sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
    (await client.query(sql, values)).rows;
  const one = async (sql: string) => Number(Object.values((await rows(sql))[0] ?? {})[0]);
  return {
    integrity: 'ok',
    links: await one('SELECT count(*) FROM links'),
    doubled: await one(DOUBLED),
    places: await one('SELECT sum(used) FROM link_totals'),
    outstanding: await one(OUTSTANDING),
    clicks: await one(CLICKS),
    targetsOf: async (codes) => {
      const found = await rows('SELECT code, target_url FROM links WHERE code = ANY($1)', codes);
      return new Map(found.map((row) => [String(row['code']), String(row['target_url'])]));
    },
    storedOf: async (targets) => {
      const found = await rows('SELECT target_url FROM links WHERE target_url = ANY($1)', targets);
      return found.map((row) => String(row['target_url']));
    },
    close: () => client.end(),
  };
}
