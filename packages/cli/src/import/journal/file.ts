import { closeSync, lstatSync, openSync, readSync, type Stats } from 'node:fs';
import { type InputError, inputError, systemReason } from '@shortlink/tables/basics';

/** How the name of a journal ends, unless the user gives it another one. */
export const JOURNAL_NAME = /\.shortlink-journal$/;

/** In a folder of the import, the next run would find a journal again that can't be used. */
const SET_ASIDE =
  'move it into a folder of its own, and run the same command with --known and the results file of that import: the links in it are not created again.';
const RESTORE = `Restore it from a copy. Without one, ${SET_ASIDE}`;
export const UPGRADE = `This release can't read it: ${SET_ASIDE}`;

/** What to do where another name or folder helps. */
const ELSEWHERE =
  'Name another file: --journal FILE. Or put all that an import writes into another folder: --state-dir FOLDER';

/** What to do about a journal that is there. */
export const ALLOW = 'Let this user read and write it: it knows which links exist.';

export function notWritable(path: string, cause: unknown, hint = ELSEWHERE): InputError {
  return inputError(`${path} can't be written: ${systemReason(cause)}`, hint);
}

export function damaged(path: string, how: string): InputError {
  return inputError(`${path} is damaged: ${how}`, RESTORE);
}

export function incomplete(path: string): InputError {
  return damaged(path, 'a part of it is missing, as in a copy that was made while an import ran');
}

export function notAJournal(path: string): InputError {
  const hint = JOURNAL_NAME.test(path) ? RESTORE : 'Name another file: --journal FILE';
  return inputError(`${path} is not an import journal`, hint);
}

/** Throws an InputError for a symbolic link or a pipe: a folder from someone else could lead the journal elsewhere, or block it. */
export function refuseIrregular(path: string): void {
  for (const part of [path, `${path}-journal`]) {
    const stats = lookAt(part);
    if (stats === undefined || stats.isFile()) continue;
    const other = stats.isDirectory() ? 'a directory' : 'a pipe or device';
    const what = stats.isSymbolicLink() ? 'a symbolic link' : other;
    throw inputError(
      `${part} can't be the journal: it is ${what}`,
      'Remove it, or name another file: --journal FILE',
    );
  }
}

function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw notWritable(path, cause);
  }
}

const DATABASE_MAGIC = 'SQLite format 3\0';

/** Whether a file is more than empty. Throws an InputError when it is no database, or this user may not read it. */
export function hasContent(path: string): boolean {
  const text = firstBytes(path, DATABASE_MAGIC.length).toString('latin1');
  if (!DATABASE_MAGIC.startsWith(text)) throw notAJournal(path);
  if (text !== '' && text !== DATABASE_MAGIC) throw incomplete(path);
  return text !== '';
}

/** `PRAGMA application_id` of a journal without the version in its last byte. */
const MARK = 'SLJ';
export const APPLICATION = Buffer.from(MARK).readUIntBE(0, MARK.length);

/** Where a database has its `application_id`. */
const ID_OFFSET = 68;

/** Whether a file is a journal, whatever its name is. */
export function isJournal(path: string): boolean {
  const text = firstBytes(path, ID_OFFSET + MARK.length).toString('latin1');
  return text.startsWith(DATABASE_MAGIC) && text.startsWith(MARK, ID_OFFSET);
}

export function firstBytes(path: string, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  try {
    const file = openSync(path, 'r');
    const read = readSync(file, bytes, 0, length, 0);
    closeSync(file);
    return bytes.subarray(0, read);
  } catch (cause) {
    throw inputError(`${path} can't be read: ${systemReason(cause)}`, ALLOW);
  }
}
