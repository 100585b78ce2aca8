/**
 * The bare insert loop: rows of the server's own table into a file with the server's own durability, and nothing else.
 * Started by the sections of the server suite with the path of a new file.
 */
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore } from '@shortlink/server';
import { answerParent } from '../frame/answer-parent.ts';
import { linkInput } from './make-links.ts';
import { newCode } from './new-code.ts';

/** How many rows to insert, and after how many of them to commit. */
export interface InsertRun {
  links: number;
  perCommit: number;
}

const [path = ''] = process.argv.slice(2);
// The store makes the tables, so that they are always those of today.
await (await openSqliteStore({ path, publicUrl: 'http://127.0.0.1' })).close();
const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768');
const insert = db.prepare(
  `INSERT INTO links (code, id, account_id, target_url, title, redirect_type, tags, created_at)
   VALUES (?, ?, 'bench', ?, '', 302, ?, ?)`,
);

answerParent(({ links, perCommit }: InsertRun): { ms: number } => {
  const startedAt = performance.now();
  for (let first = 0; first < links; first += perCommit) {
    db.exec('BEGIN IMMEDIATE');
    for (let number = first; number < first + perCommit; number += 1) {
      const { target_url, tags } = linkInput(number);
      insert.run(newCode(), crypto.randomUUID(), target_url, JSON.stringify(tags), Date.now());
    }
    db.exec('COMMIT');
  }
  return { ms: performance.now() - startedAt };
});
