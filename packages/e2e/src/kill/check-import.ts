import { readFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseCsv } from '../parse-csv.ts';

/** The outcomes of the rows of one file, according to its results and to the server's database. */
export interface ImportOutcomes {
  created: number;
  unknown: number;
  /** The number of unknown rows whose link exists. */
  unknownButCreated: number;
}

/** Longest time for the jobs that were accepted before the last kill. */
const SETTLE_LIMIT_MS = 60_000;

/**
 * Compares the results of an import that was killed with what the server holds: every row `created` has a link of its own, under the code
 * that the results name; every other link that is there belongs to a row that is `unknown`; no URL has more links than rows.
 *
 * @throws Error that names the first row or URL that breaks this
 */
export async function checkImport(
  database: string,
  results: string,
  targets: readonly string[],
): Promise<ImportOutcomes> {
  const links = await settledLinks(database, new Set(targets));
  const [, ...rows] = parseCsv(await readFile(results, 'utf8'));
  if (rows.length !== targets.length) throw new Error(`${rows.length} rows of ${targets.length}`);
  const outcomes: ImportOutcomes = { created: 0, unknown: 0, unknownButCreated: 0 };
  const doubtful = new Map<string, number>();
  for (const [index, target] of targets.entries()) {
    const [own, , code = '', , status = ''] = rows[index] ?? [];
    const codes = links.get(target) ?? new Set();
    const what = `row ${index} (${target}): "${status}" with code ${code}, in the database ${[...codes]}`;
    if (own !== target) throw new Error(`out of order, ${what}`);
    // Each link belongs to one row, so a link that is found is removed.
    if (status === 'created' && codes.delete(code)) outcomes.created += 1;
    else if (status === 'unknown' && code === '') {
      outcomes.unknown += 1;
      doubtful.set(target, (doubtful.get(target) ?? 0) + 1);
    } else throw new Error(`wrong outcome, ${what}`);
  }
  for (const [target, { size }] of links) {
    if (size > (doubtful.get(target) ?? 0)) throw new Error(`${target} has ${size} links too many`);
    outcomes.unknownButCreated += size;
  }
  return outcomes;
}

/** Codes of the links by target URL, once all jobs have ended. */
async function settledLinks(database: string, targets: ReadonlySet<string>) {
  const db = new DatabaseSync(database.replace(/^sqlite:/, ''), { readOnly: true });
  try {
    const until = performance.now() + SETTLE_LIMIT_MS;
    const openJobs = db.prepare('SELECT count(*) AS n FROM jobs WHERE completed_at IS NULL');
    while (openJobs.get()?.['n'] !== 0) {
      if (performance.now() > until) throw new Error('jobs do not end');
      await sleep(100);
    }
    const links = new Map<string, Set<string>>();
    for (const row of db.prepare('SELECT target_url, code FROM links').iterate()) {
      const target = String(row['target_url']);
      if (!targets.has(target)) continue;
      links.set(target, (links.get(target) ?? new Set()).add(String(row['code'])));
    }
    return links;
  } finally {
    db.close();
  }
}
