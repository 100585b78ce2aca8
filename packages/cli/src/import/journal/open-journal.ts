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
import { dirname, join, relative, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { inputError } from '../errors.ts';
import {
  beginningOf,
  inTransaction,
  isEmpty,
  openLocked,
  openPrivate,
  refuseIrregular,
  refuseTextJournal,
  removeJournal,
} from './database.ts';
import { Journal } from './journal.ts';

/** Which journal is opened, and for what. */
export interface JournalSettings {
  path: string;
  baseUrl: string;
  /** Begin a new one. */
  restart: boolean;
  /** The input, whose journal it is; undefined for standard input, whose journal is named by its content. */
  input?: string | undefined;
}

/**
 * Opens the journal, or begins one, and keeps other runs out until it is closed. With `restart`, the old one is kept beside it, as `.old`,
 * and comes back where the new one remembers nothing when it is closed.
 *
 * @throws CliError (exit code 2) when another run holds it, or the file is something else, or the journal of another input
 */
export function openJournal({ path, baseUrl, restart, input }: JournalSettings): Journal {
  refuseIrregular(path);
  const aside = restart ? setAside(path) : undefined;
  const kept = aside?.name;
  let db: DatabaseSync;
  try {
    db = openLocked(path);
  } catch (error) {
    if (kept !== undefined && !existsSync(path)) renameSync(kept, path);
    throw error;
  }
  const end = () => {
    if (isEmpty(db)) endEmpty(path, db, kept, input !== undefined);
    db.close();
  };
  try {
    if (input !== undefined) takeOver(db, path, input);
  } catch (error) {
    end();
    throw error;
  }
  const journal = new Journal(path, db, baseUrl, end);
  for (const content of aside?.written ?? []) journal.willWrite(content);
  return journal;
}

/**
 * Refuses the journal of another input, such as one of the same name under `--state-dir`. Where that is no longer there, it was renamed.
 * Paths are those seen from the folder of the journal, so that both may be moved together.
 */
function takeOver(db: DatabaseSync, path: string, input: string): void {
  const folder = dirname(resolve(path));
  const own = relative(folder, resolve(input));
  const owner = db.prepare('SELECT input FROM owner').get()?.['input'];
  if (owner === own) return;
  const other = owner === undefined ? undefined : resolve(folder, String(owner));
  if (other !== undefined && !isEmpty(db) && isOther(other, input)) {
    throw inputError(
      `${path} is the journal of another input, ${other}`,
      'Name another journal: --journal FILE. If that file has the same rows, let this one use its results: --known FILE',
    );
  }
  inTransaction(db, path, () => {
    db.prepare('DELETE FROM owner').run();
    db.prepare('INSERT INTO owner VALUES (?)').run(own);
  });
}

/** Whether a file is there, under a name that doesn't lead to the input. */
function isOther(file: string, input: string): boolean {
  const [found, own] = [file, input].map((path) => statSync(path, { throwIfNoEntry: false }));
  return found !== undefined && (found.ino !== own?.ino || found.dev !== own.dev);
}

/**
 * Removes a journal that knows no link, and restores the one that was set aside for it, if any. It stays where it knows which files an
 * import has written.
 */
function endEmpty(path: string, db: DatabaseSync, kept: string | undefined, ofFile: boolean): void {
  // While the empty one is still locked: no other run begins between the two.
  if (kept !== undefined && existsSync(kept)) renameSync(kept, path);
  else if (!ofFile || db.prepare('SELECT 1 FROM written').get() === undefined) removeJournal(path);
}

/** What the journal knows, for a dry run, which changes nothing: a copy of it, or an empty one. */
export function peekJournal({ path, baseUrl, restart, input }: JournalSettings): Journal {
  refuseIrregular(path);
  if (restart || !existsSync(path)) {
    const db = openPrivate('');
    return new Journal(path, db, baseUrl, () => db.close());
  }
  refuseTextJournal(path);
  const folder = mkdtempSync(join(tmpdir(), 'shortlink-journal-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    const db = openPrivate(copyJournal(path, folder), path);
    if (input !== undefined) takeOver(db, path, input);
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
 * @returns where it is now, and which files it knows to be written; undefined where there was none
 */
function setAside(path: string): { name: string; written: string[] } | undefined {
  if (!existsSync(path)) return undefined;
  if (beginningOf(path) === 'text') return { name: moveAside(path), written: [] };
  const db = openLocked(path);
  try {
    if (isEmpty(db)) return undefined;
    const written = db.prepare('SELECT content FROM written ORDER BY id').all();
    return { name: moveAside(path), written: written.map(({ content }) => String(content)) };
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

/** Copies a journal, and what undoes a commit in which a run was killed, while nobody writes to it. */
function copyJournal(path: string, folder: string): string {
  const copy = join(folder, 'journal');
  const parts = [path, `${path}-journal`];
  const state = () =>
    parts
      .map((part) => statSync(part, { throwIfNoEntry: false }))
      .map((stats) => `${stats?.size} ${stats?.mtimeMs}`)
      .join();
  for (let tries = 1; ; tries += 1) {
    const before = state();
    if (beginningOf(path) === 'database') copyFileSync(path, copy);
    rmSync(`${copy}-journal`, { force: true });
    if (existsSync(`${path}-journal`)) copyFileSync(`${path}-journal`, `${copy}-journal`);
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
