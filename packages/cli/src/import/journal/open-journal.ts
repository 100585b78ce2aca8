import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { inputError } from '../errors.ts';
import {
  beginningOf,
  isEmpty,
  ONE_FILE,
  openLocked,
  openPrivate,
  refuseIrregular,
  refuseTextJournal,
  removeJournal,
} from './database.ts';
import { Journal } from './journal.ts';

/**
 * Opens the journal, or begins one, and keeps other runs out until it is closed.
 *
 * @param restart - begin a new one; the old one is kept beside it, as `.old`, and comes back where the new one remembers nothing
 *   when it is closed
 * @throws CliError (exit code 2) when another run holds it, or the file is something else
 */
export function openJournal(path: string, baseUrl: string, restart: boolean): Journal {
  refuseIrregular(path);
  const kept = restart ? setAside(path) : undefined;
  let db: DatabaseSync;
  try {
    db = openLocked(path);
  } catch (error) {
    if (kept !== undefined && !existsSync(path)) renameSync(kept, path);
    throw error;
  }
  const journal = new Journal(path, db, baseUrl, () => {
    if (isEmpty(db)) endEmpty(path, db, kept);
    db.close();
  });
  journal.predecessor = kept;
  return journal;
}

/** Removes an empty journal, and restores the one that was set aside for it, if any. */
function endEmpty(path: string, db: DatabaseSync, kept: string | undefined): void {
  if (kept === undefined || !existsSync(kept)) {
    removeJournal(path, db);
    return;
  }
  db.exec(ONE_FILE);
  // While the empty one is still locked: no other run begins between the two.
  renameSync(kept, path);
}

/** What the journal knows, for a dry run, which changes nothing: a copy of it, or an empty one. */
export function peekJournal(path: string, baseUrl: string, restart: boolean): Journal {
  refuseIrregular(path);
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

/**
 * Keeps a journal that is to be forgotten: it may be the only record of what was created.
 *
 * @returns where it is now; undefined where there was none
 */
function setAside(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  if (beginningOf(path) === 'text') return moveAside(path);
  const db = openLocked(path);
  try {
    if (isEmpty(db)) return undefined;
    db.exec(ONE_FILE);
    return moveAside(path);
  } finally {
    db.close();
  }
}

/** To a name that nothing has yet: an earlier restart may have kept another one. */
function moveAside(path: string): string {
  for (let number = 1; ; number += 1) {
    const name = `${path}.old${number === 1 ? '' : number}`;
    if (lstatSync(name, { throwIfNoEntry: false }) !== undefined) continue;
    renameSync(path, name);
    return name;
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
        'Wait until it ends, then run the command again.',
      );
    }
  }
}

/** How often a journal is copied that changes meanwhile. */
const MAX_COPIES = 5;
