import { randomBytes } from 'node:crypto';
import { existsSync, statfsSync } from 'node:fs';
import { lstat, open, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { InputError, systemReason } from '@shortlink/tables/basics';
import { hasCode } from '../cli-error.ts';

/** A hidden file beside a target. File names have at most 255 bytes. */
export function nameBeside(target: string, end: string): string {
  return join(dirname(target), `.${basename(target).slice(0, 60).toWellFormed()}.${end}`);
}

/** The name of a new file until it is whole, and gets the name of its target. Nobody can guess it. */
export function partialName(target: string): string {
  return nameBeside(target, `${randomBytes(12).toString('hex')}.partial`);
}

/** A file that is older belongs to no run that still writes. */
const LEFTOVER_MS = 24 * 60 * 60 * 1000;

/** Removes what killed runs have left of new files and journals. A folder may be closed to readers. */
export async function removeLeftovers(target: string): Promise<void> {
  const start = nameBeside(target, '');
  for (const name of await readdir(dirname(target)).catch(() => [])) {
    const path = join(dirname(target), name);
    const isPartial = /^[0-9a-f]{24}\.partial(?:-journal)?$/.test(path.slice(start.length));
    const isOurs = path.startsWith(start) && isPartial;
    const stats = isOurs ? await lstat(path).catch(() => undefined) : undefined;
    const isOld = Date.now() - (stats?.mtimeMs ?? Number.NaN) > LEFTOVER_MS;
    if (isOld && stats?.isFile()) await rm(path, { force: true });
  }
}

/** Errors of systems that can't sync a folder, or let nobody open one. */
const CAN_NOT = ['EINVAL', 'EPERM', 'EACCES', 'EISDIR', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EBADF'];

/** Makes new and renamed files in a folder durable. Throws the system's error where the folder could be synced and was not. */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    if (!hasCode(error, ...CAN_NOT)) throw error;
  }
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
export function writeError(path: string, cause: unknown): InputError {
  if (cause instanceof InputError) return cause;
  return new InputError(`${path} can't be written: ${systemReason(cause)}.`, {
    code: 'system',
    cause,
  });
}
