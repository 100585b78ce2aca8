import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { CliError, EXIT_CODES } from '../cli-error.ts';

/** What git writes around the two sides of a conflict. */
const CONFLICT_CODE = 'conflict';
const CONFLICT = /^(?:<{7} |={7}$|>{7} )/;

/** @throws CliError (exit code 2) where a line was left by a merge: what stands around it are two versions of the same rows */
export function refuseConflict(name: string, line: number, text: string): void {
  if (!CONFLICT.test(text)) return;
  throw new CliError(`${name}, line ${line}: ${shown(text)} is a conflict marker of git`, {
    code: CONFLICT_CODE,
    exitCode: EXIT_CODES.usage,
    hint: 'Resolve the conflict, so that each row is there once, and run the command again.',
  });
}

export function isConflict(error: unknown): boolean {
  return error instanceof CliError && error.code === CONFLICT_CODE;
}

/** The input can't be imported with these options, and nothing was sent: exit code 2. */
export function inputError(message: string, hint?: string): CliError {
  return new CliError(message, { code: 'input', exitCode: EXIT_CODES.usage, hint });
}

/** Characters of a cell that a message shows; more would only hide the rest of the message. */
const MAX_SHOWN_CHARACTERS = 80;

/** A cell or line as messages quote it. */
export function shown(text: string): string {
  const cut = text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text;
  return JSON.stringify(cut);
}

const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of its path is not a folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EFBIG: 'files may not become so large here',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an error',
  EPIPE: 'its reader has closed it',
  ENXIO: 'it has no reader',
  ELOOP: 'it is a chain of symbolic links without an end',
  ENAMETOOLONG: 'its name is too long',
  EBUSY: 'it is in use',
};

/** The error of the operating system in words. */
export function systemReason(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return WORDS[code] ?? (cause instanceof Error ? cause.message : String(cause));
}

/** The temporary folder may be full when an input is copied or unpacked; other errors stay as they are. */
export function temporaryError(cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const isFull = ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code);
  return isFull ? writeError(`The temporary folder ${tmpdir()}`, cause) : cause;
}

/** The journal, or a folder in which SQLite may keep temporary tables: whichever has the least room. */
export function placeWithoutRoom(path: string): string {
  const roomIn = (folder: string) => {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  };
  const folders = [tmpdir(), '/var/tmp'].filter((folder) => existsSync(folder));
  const [fullest] = folders.toSorted((a, b) => roomIn(a) - roomIn(b));
  const isFull = fullest !== undefined && roomIn(fullest) < roomIn(dirname(path));
  return isFull ? `The temporary folder ${fullest}` : path;
}

/** A file can't be written any more while the import runs: exit code 1, and the same command continues. */
export function writeError(path: string, cause: unknown): CliError {
  return new CliError(`${path} can't be written: ${systemReason(cause)}.`, {
    code: 'system',
    exitCode: EXIT_CODES.error,
    cause,
  });
}
