/**
 * The bare insert loop: rows of the server's own table into a file with the server's own durability, and nothing else.
 * Started by the sections of the server suite with the path of a new file.
 */
import { answerParent } from '../frame/processes.ts';
import { openBareTable } from './bare-table.ts';
import { linkInput, newCode } from './make-links.ts';

/** How many rows to insert, and after how many of them to commit. */
export interface InsertRun {
  links: number;
  perCommit: number;
}

const [path = ''] = process.argv.slice(2);
const { db, insert } = await openBareTable(path);

answerParent(({ links, perCommit }: InsertRun): { ms: number } => {
  const startedAt = performance.now();
  for (let first = 0; first < links; first += perCommit) {
    db.exec('BEGIN IMMEDIATE');
    for (let number = first; number < first + perCommit; number += 1) {
      insert(newCode(), linkInput(number).target_url);
    }
    db.exec('COMMIT');
  }
  return { ms: performance.now() - startedAt };
});
