import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile, link, stat } from 'node:fs/promises';

/** SHA-256 of a file's bytes, in hexadecimal. */
export async function fingerprint(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path, { highWaterMark: 256 * 1024 }))
    hash.update(bytes);
  return hash.digest('hex');
}

/** Which contents imports have written themselves, by their fingerprints. */
export interface OwnFiles {
  hasWritten(content: string): boolean;
  /** Remembers a content before it is put in place. */
  willWrite(content: string): void;
}

/** For an output that nobody remembers: what is replaced is kept. */
export const NO_OWN_FILES: OwnFiles = { hasWritten: () => false, willWrite: () => {} };

/**
 * Keeps a file that is neither ours nor empty nor the same as the new one: as `<path>.old`, or with a number where that name is taken.
 */
export async function keepChanged(
  target: string,
  content: string,
  ownFiles: OwnFiles,
): Promise<string | undefined> {
  const stats = await stat(target).catch(ignoreMissing);
  if (stats === undefined || stats.size === 0) return undefined;
  const found = await fingerprint(target);
  if (found === content || ownFiles.hasWritten(found)) return undefined;
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
