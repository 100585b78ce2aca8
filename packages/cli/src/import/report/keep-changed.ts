import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile, link, lstat, stat } from 'node:fs/promises';

/** SHA-256 of a file's bytes, in hexadecimal. */
export async function fingerprint(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path, { highWaterMark: 256 * 1024 }))
    hash.update(bytes);
  return hash.digest('hex');
}

/**
 * The time that we give to a file, in seconds: now, with a fraction that follows from the content. A file that still has such a time was not
 * changed since, which needs no other record.
 */
export function ownTime(content: string): number {
  return Math.floor(Date.now() / 1000) - 1 + microseconds(content) / 1e6;
}

function hasOwnTime({ mtimeNs }: { mtimeNs: bigint }, content: string): boolean {
  const found = Number(mtimeNs % 1_000_000_000n) / 1000;
  // The time is set as a floating point number, which is exact to about a microsecond.
  return Math.abs(found - microseconds(content)) <= 2;
}

/** From 1 to 999,999, and never whole milliseconds, to which copying a file may round its time. */
function microseconds(content: string): number {
  const number = Number.parseInt(content.slice(0, 12), 16);
  return (number % 1000) * 1000 + 3 + (Math.floor(number / 1000) % 994);
}

/** Whether a regular file is unchanged since we wrote it. */
export async function isUntouched(path: string): Promise<boolean> {
  const stats = await lstat(path, { bigint: true }).catch(ignoreMissing);
  return stats?.isFile() === true && hasOwnTime(stats, await fingerprint(path));
}

/**
 * Keeps a file that is neither ours nor empty nor the same as the new one: as `<path>.old`, or with a number where that name is taken.
 */
export async function keepChanged(
  target: string,
  content: string,
  previous: string | undefined,
): Promise<string | undefined> {
  const stats = await stat(target, { bigint: true }).catch(ignoreMissing);
  if (stats === undefined || stats.size === 0n) return undefined;
  const found = await fingerprint(target);
  if (found === content || found === previous) return undefined;
  if (previous === undefined && hasOwnTime(stats, found)) return undefined;
  for (let number = 1; ; number += 1) {
    const name = `${target}.old${number === 1 ? '' : number}`;
    try {
      await link(target, name).catch((error: unknown) => {
        if (hasCode(error, 'EEXIST')) throw error;
        // Some file systems have no hard links.
        return copyFile(target, name, constants.COPYFILE_EXCL);
      });
      return name;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
      // A run that has written nothing has kept it already.
      if (await hasContent(name, found)) return name;
    }
  }
}

async function hasContent(path: string, content: string): Promise<boolean> {
  const stats = await stat(path).catch(ignoreMissing);
  return stats?.isFile() === true && (await fingerprint(path)) === content;
}

export function ignoreMissing(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT')) throw error;
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
