import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { systemReason } from '@shortlink/tables/basics';
import { CliError, EXIT_CODES } from '../cli-error.ts';

/** The input can't be imported with these options, and nothing was sent: exit code 2. */
export function inputError(message: string, hint?: string): CliError {
  return new CliError(message, { code: 'input', exitCode: EXIT_CODES.usage, hint });
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

/** A file can't be written any more: exit code 1, and the same command continues. An error that says so stays as it is. */
export function writeError(path: string, cause: unknown): CliError {
  if (cause instanceof CliError) return cause;
  return new CliError(`${path} can't be written: ${systemReason(cause)}.`, {
    code: 'system',
    exitCode: EXIT_CODES.error,
    cause,
  });
}
