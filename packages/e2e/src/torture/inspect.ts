import { DatabaseSync } from 'node:sqlite';

/** What is really in the database file. */
export interface Inspection {
  integrity: string;
  links: number;
  /** Places taken of the plan, which unfinished jobs hold too. */
  places: number;
  /** Links that unfinished jobs have still to create. */
  outstanding: number;
  clicks: number;
  /** Target of a link; `undefined` when there is none. */
  targetOf: (code: string) => string | undefined;
  close: () => void;
}

/** Opens the file as a stranger would, with no code of the server. No server may have it open. */
export function inspect(path: string): Inspection {
  const db = new DatabaseSync(path);
  const one = (sql: string) => Object.values(db.prepare(sql).get() ?? {})[0];
  const byCode = db.prepare('SELECT target_url FROM links WHERE code = ?');
  return {
    integrity: String(one('PRAGMA integrity_check')),
    links: Number(one('SELECT count(*) FROM links')),
    places: Number(one('SELECT sum(links_used) FROM accounts')),
    outstanding: Number(one('SELECT coalesce(sum(total - processed), 0) FROM jobs')),
    clicks: Number(
      one(
        'SELECT (SELECT sum(click_count) FROM links) + (SELECT coalesce(sum(clicks), 0) FROM link_clicks)',
      ),
    ),
    targetOf: (code) => {
      const target = byCode.get(code)?.['target_url'];
      return target === undefined ? undefined : String(target);
    },
    close: () => db.close(),
  };
}
