/** Fills a server's database file with links, fast and without durability: `seed-process.ts <file>`. Started by `growth.ts`. */
import { DatabaseSync } from 'node:sqlite';
import { targetNumber } from '../../../server/src/store/links.ts';
import { answerParent } from '../frame/processes.ts';
import { linkInput, newCode } from './make-links.ts';

/** Rows of one transaction: few enough for the log to stay small. */
const PER_COMMIT = 100_000;

/** Number of codes that are returned for the redirects: more than the server keeps in memory. */
const SAMPLE = 250_000;

const [path = ''] = process.argv.slice(2);

answerParent((links: number): string[] => {
  const db = new DatabaseSync(path);
  // A page cache that holds the whole index of codes: random inserts would read it from the file otherwise.
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000');
  const account = db.prepare('SELECT id FROM accounts').get()?.['id'];
  if (typeof account !== 'string') throw new Error(`no account in ${path}`);
  const insert = db.prepare(
    `INSERT INTO links (code, id, account_id, target_url, title, redirect_type, is_active, tags, created_at, target_number)
     VALUES (?, ?, ?, ?, '', 302, 1, ?, ?, ?) ON CONFLICT (code) DO NOTHING`,
  );
  const codes: string[] = [];
  for (let first = 0; first < links; first += PER_COMMIT) {
    db.exec('BEGIN');
    for (let number = first; number < Math.min(first + PER_COMMIT, links); number += 1) {
      const code = newCode();
      const { target_url, tags } = linkInput(number);
      insert.run(
        ...[code, crypto.randomUUID(), account, target_url, JSON.stringify(tags), Date.now()],
        ...[targetNumber({ account_id: account, domain_id: null, target_url })],
      );
      if (number % Math.ceil(links / SAMPLE) === 0) codes.push(code);
    }
    db.exec('COMMIT');
  }
  db.prepare('UPDATE link_totals SET used = ?').run(links);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return codes;
});
