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
import { inputError } from '@shortlink/tables/basics';
import { isInTransaction, openLocked, openPrivate, wasCut } from './database.ts';
import { hasContent, refuseIrregular } from './file.ts';
import { Journal } from './journal.ts';

export interface JournalSettings {
  path: string;
  baseUrl: string;
  /** Begin a new one. */
  restart?: boolean | undefined;
  /** Undefined for standard input, whose journal is named by its content. */
  input?: string | undefined;
  warn?: ((message: string) => void) | undefined;
}

/**
 * Opens the journal, or begins one, and keeps other runs out until it is closed. With `restart`, the old one is kept as `.old`, and comes back
 * where the new one remembers nothing when it is closed.
 *
 * @throws InputError when another run holds it, or the file is something else, or the journal of another input
 */
export function openJournal(settings: JournalSettings): Journal {
  const { path, baseUrl, restart, input } = settings;
  refuseIrregular(path);
  setStaleAside(settings);
  const { kept, written } = restart ? setAside(path, baseUrl) : { written: [] };
  let db: DatabaseSync;
  try {
    db = openLocked(path);
  } catch (error) {
    if (kept !== undefined && !existsSync(path)) renameSync(kept, path);
    throw error;
  }
  const journal: Journal = new Journal(path, db, baseUrl, () => {
    if (journal.isEmpty) endEmpty(journal, kept, input !== undefined);
    db.close();
  });
  takeOver(journal, input);
  for (const content of written) journal.willWrite(content);
  return journal;
}

/**
 * Refuses the journal of another input that is still there. Paths are seen from its folder, so that both may be moved together. A journal that
 * can't be used is not left locked, and what was set aside for it comes back.
 */
function takeOver(journal: Journal, input: string | undefined): void {
  const { path, owner } = journal;
  const folder = dirname(resolve(path));
  const own = relative(folder, resolve(input ?? ''));
  if (input === undefined || owner === own) return;
  const other = resolve(folder, owner ?? '');
  try {
    if (owner !== undefined && !journal.isEmpty && isOther(other, input)) {
      throw inputError(
        `${path} is the journal of another input, ${other}`,
        'Name another journal: --journal FILE. If that file has the same rows, let this one use its results: --known FILE',
      );
    }
    journal.setOwner(own);
  } catch (error) {
    journal.close();
    throw error;
  }
}

/** Whether a file is there that is not the input. */
function isOther(file: string, input: string): boolean {
  const [found, own] = [file, input].map((path) => statSync(path, { throwIfNoEntry: false }));
  return found !== undefined && (found.ino !== own?.ino || found.dev !== own.dev);
}

/** Removes a journal that knows neither links nor written files, and restores the one that was set aside for it, if any. */
function endEmpty({ path, written, db }: Journal, kept: string | undefined, ofFile: boolean): void {
  // The empty one is still locked, so that no other run begins between the two.
  if (kept !== undefined && existsSync(kept)) renameSync(kept, path);
  else if (!wasCut(db) && (!ofFile || written.length === 0)) rmSync(path, { force: true });
}

/** What SQLite undoes where a run is killed. */
const undoOf = (path: string) => `${path}-journal`;

/** What SQLite would undo in a journal that was restored from a copy since belongs to another one. */
function setStaleAside({ path, baseUrl, warn }: JournalSettings): void {
  if (!existsSync(path) || !existsSync(undoOf(path)) || !isInTransaction(path)) return;
  const { journal, undoes } = readWhole(path, baseUrl);
  journal.close();
  if (undoes) return;
  const kept = moveAside(undoOf(path));
  warn?.(`${path} was restored from a copy. What a killed run had left of it is kept as ${kept}.`);
}

/** Opens a copy of the journal, or an empty one, for a dry run, which changes nothing. */
export function peekJournal({ path, baseUrl, restart, input }: JournalSettings): Journal {
  refuseIrregular(path);
  if (restart || !existsSync(path)) {
    const db = openPrivate('', path);
    return new Journal(path, db, baseUrl, () => db.close());
  }
  const { journal } = readWhole(path, baseUrl);
  takeOver(journal, input);
  return journal;
}

/** Another run may change the journal meanwhile. */
const MAX_COPIES = 5;

/** Reads a copy of a journal: first with what undoes a transaction, and says whether that belongs to it. */
function readWhole(path: string, baseUrl: string): { journal: Journal; undoes: boolean } {
  for (let copies = 1; ; copies += 1) {
    const undoes = copies < MAX_COPIES;
    try {
      return { journal: readCopy(path, baseUrl, undoes), undoes };
    } catch (error) {
      if (undoes && existsSync(undoOf(path))) continue;
      // Where another run holds it, that is said.
      isInTransaction(path);
      throw error;
    }
  }
}

function readCopy(path: string, baseUrl: string, undoes: boolean): Journal {
  const folder = mkdtempSync(join(tmpdir(), 'shortlink-journal-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const copy = join(folder, 'journal');
  try {
    if (hasContent(path)) copyFileSync(path, copy);
    if (undoes && existsSync(undoOf(path))) copyFileSync(undoOf(path), undoOf(copy));
    const db = openPrivate(copy, path, true);
    return new Journal(path, db, baseUrl, () => {
      db.close();
      remove();
    });
  } catch (error) {
    remove();
    throw error;
  }
}

/** Keeps a journal that may be the only record of its links. Returns where it is now, if there was one, and which files it has written. */
function setAside(path: string, baseUrl: string): { kept?: string; written: readonly string[] } {
  if (!existsSync(path)) return { written: [] };
  const db = openLocked(path);
  const { isEmpty, written } = new Journal(path, db, baseUrl, () => {});
  const aside = isEmpty ? { written: [] } : { kept: moveAside(path), written };
  db.close();
  return aside;
}

/** An earlier restart may have kept another one. */
function moveAside(path: string): string {
  for (let number = 1; ; number += 1) {
    const name = `${path}.old${number === 1 ? '' : number}`;
    if (lstatSync(name, { throwIfNoEntry: false }) !== undefined) continue;
    renameSync(path, name);
    return name;
  }
}
