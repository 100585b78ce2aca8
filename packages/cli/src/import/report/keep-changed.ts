import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile, link, stat } from 'node:fs/promises';
import { hasCode } from '../../cli-error.ts';
import { firstBytes } from '../journal/file.ts';

/** SHA-256, in hexadecimal. */
export async function fingerprint(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const bytes of createReadStream(path, { highWaterMark: 256 * 1024 }))
    hash.update(bytes);
  return hash.digest('hex');
}

/** A longer header is none of ours. */
const HEADER_BYTES = 64 * 1024;

/** The first line of a table, behind what Excel may need before it. */
export function headerOf(path: string): string {
  const text = firstBytes(path, HEADER_BYTES).toString();
  return text.replace(/^\ufeff?(?:sep=.\r?\n)?/, '').split(/\r?\n/, 1)[0] ?? '';
}

/** Which contents imports have written themselves, by their fingerprints. Where nothing is known of them, what is replaced is kept. */
export interface OwnFiles {
  hasWritten?(content: string): boolean;
  willWrite?(content: string): void;
  /** Whether a file may be replaced for what it holds. @default none */
  isOurs?(path: string): Promise<boolean>;
  /** Whether nothing is remembered: then a file that is wholly in the new one may be replaced too. @default false */
  remembersNone?: boolean;
}

/** Keeps a file that is neither ours nor empty as `<path>.old`, or with a number where that name is taken. `next` replaces it. */
export async function keepChanged(
  target: string,
  next: { path: string; content: string },
  ownFiles: OwnFiles,
): Promise<string | undefined> {
  const stats = await stat(target).catch(ignoreMissing);
  if (stats === undefined || stats.size === 0) return undefined;
  const found = await fingerprint(target);
  if (found === next.content || ownFiles.hasWritten?.(found)) return undefined;
  if (await ownFiles.isOurs?.(target)) return undefined;
  if (ownFiles.remembersNone && (await hasLinesOf(next.path, target))) return undefined;
  for (let number = 1; ; number += 1) {
    const name = `${target}.old${number === 1 ? '' : number}`;
    try {
      // Some file systems have no hard links.
      await link(target, name).catch(() => copyFile(target, name, constants.COPYFILE_EXCL));
      return name;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
      // A run that has written nothing has kept it already.
      if (await hasContent(name, found)) return name;
    }
  }
}

/** Whether a file has every line of an earlier one, in the same order. */
async function hasLinesOf(path: string, earlier: string): Promise<boolean> {
  const lines = linesOf(path);
  try {
    for await (const wanted of linesOf(earlier)) {
      let line = await lines.next();
      while (!line.done && line.value !== wanted) line = await lines.next();
      if (line.done) return false;
    }
    return true;
  } finally {
    await lines.return(undefined);
  }
}

/** A longer line is equal to none: memory is bounded. */
const MAX_LINE = 4 * 1024 * 1024;

/** Each byte is a character, so that no line is taken for another. One that is too long is none of any other file. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  const chunks = createReadStream(path, { highWaterMark: MAX_LINE }) as AsyncIterable<Buffer>;
  for await (const bytes of chunks) {
    const lines = (rest + bytes.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
    if (rest.length <= MAX_LINE) continue;
    rest = path;
    break;
  }
  yield rest;
}

async function hasContent(path: string, content: string): Promise<boolean> {
  const stats = await stat(path).catch(ignoreMissing);
  return stats?.isFile() === true && (await fingerprint(path)) === content;
}

export function ignoreMissing(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT')) throw error;
}
