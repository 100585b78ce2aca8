import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inputError } from '../errors.ts';
import {
  beginningOf,
  isEmpty,
  ONE_FILE,
  openLocked,
  openPrivate,
  refuseTextJournal,
  removeJournal,
} from './database.ts';
import { Journal } from './journal.ts';

/**
 * Opens the journal, or begins one, and keeps other runs out until it is closed.
 *
 * @param restart - begin a new one; the old one is kept beside it, as `.old`
 * @throws CliError (exit code 2) when another run holds it, or the file is something else
 */
export function openJournal(path: string, baseUrl: string, restart: boolean): Journal {
  if (restart) setAside(path);
  const db = openLocked(path);
  return new Journal(path, db, baseUrl, () => {
    if (isEmpty(db)) removeJournal(path, db);
    db.close();
  });
}

/** What the journal knows, for a dry run, which changes nothing: a copy of it, or an empty one. */
export function peekJournal(path: string, baseUrl: string, restart: boolean): Journal {
  if (restart || !existsSync(path)) {
    const db = openPrivate('');
    return new Journal(path, db, baseUrl, () => db.close());
  }
  refuseTextJournal(path);
  const folder = mkdtempSync(join(tmpdir(), 'shortlink-journal-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const db = openPrivate(copyJournal(path, folder));
    return new Journal(path, db, baseUrl, () => {
      db.close();
      remove();
    });
  } catch (error) {
    remove();
    throw error;
  }
}

/** Keeps a journal that is to be forgotten: it may be the only record of what was created. */
function setAside(path: string): void {
  if (!existsSync(path)) return;
  if (beginningOf(path) === 'text') {
    renameSync(path, `${path}.old`);
    return;
  }
  const db = openLocked(path);
  try {
    if (isEmpty(db)) return;
    db.exec(ONE_FILE);
    renameSync(path, `${path}.old`);
  } finally {
    db.close();
  }
}

/** Copies a journal, and what a killed run has not copied into it yet, while nobody writes to it. */
function copyJournal(path: string, folder: string): string {
  const copy = join(folder, 'journal');
  const parts = [path, `${path}-wal`];
  const state = () =>
    parts
      .map((part) => statSync(part, { throwIfNoEntry: false }))
      .map((stats) => `${stats?.size} ${stats?.mtimeMs}`)
      .join();
  for (let tries = 1; ; tries += 1) {
    const before = state();
    if (beginningOf(path) === 'database') copyFileSync(path, copy);
    rmSync(`${copy}-wal`, { force: true });
    if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`);
    if (state() === before) return copy;
    if (tries === MAX_COPIES) {
      throw inputError(
        `${path} is being written by another run`,
        'Wait for it to end, then compare with what exists.',
      );
    }
  }
}

/** How often a journal is copied that changes meanwhile. */
const MAX_COPIES = 5;
