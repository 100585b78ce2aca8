import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { inputError, systemReason, temporaryError } from './errors.ts';
import { type Packing, sniffPacking } from './sniff.ts';

/** An input that can be read as often as needed. */
export interface Input {
  path: string;
  /** Its name in messages. */
  name: string;
  /** Bytes. */
  size: number;
  /** What the text is packed in; undefined for plain text. */
  packing?: Packing | undefined;
  /** A folder for the rows of a spreadsheet once they are unpacked; only where `packing` is `xlsx`. */
  scratch?: string | undefined;
  /** Removes what was put on disk for it. */
  dispose: () => Promise<void>;
}

/**
 * Makes the input readable more than once, since all of it is checked before any of it is sent: a regular file is taken as it
 * is; standard input and pipes are copied to a temporary file, whatever their size.
 * @throws InputError when there is no such file, or it is of a kind that holds no rows (a PDF, an image)
 */
export async function openInput(
  file: string,
  stdin: AsyncIterable<Uint8Array | string>,
  signal?: AbortSignal,
): Promise<Input> {
  const input = await openBytes(file, stdin, signal);
  try {
    const packing = await sniffPacking(input);
    if (packing !== 'xlsx') return { ...input, packing };
    const scratch = await mkdtemp(join(tmpdir(), 'shortlink-sheet-'));
    const dispose = async () => {
      await rm(scratch, { recursive: true, force: true });
      await input.dispose();
    };
    return { ...input, packing, scratch, dispose };
  } catch (error) {
    await input.dispose();
    throw error;
  }
}

async function openBytes(
  file: string,
  stdin: AsyncIterable<Uint8Array | string>,
  signal: AbortSignal | undefined,
): Promise<Input> {
  if (file === '-') return await spool('standard input', stdin, signal);
  const stats = await stat(file).catch((cause: unknown) => {
    throw inputError(`${file} can't be read: ${systemReason(cause)}`);
  });
  if (stats.isDirectory()) throw inputError(`${file} is a directory, not a file`);
  if (stats.isFile()) {
    return { path: file, name: basename(file), size: stats.size, dispose: async () => {} };
  }
  return await spool(basename(file), createReadStream(file), signal);
}

async function spool(
  name: string,
  source: AsyncIterable<Uint8Array | string>,
  signal: AbortSignal | undefined,
): Promise<Input> {
  const directory = await mkdtemp(join(tmpdir(), 'shortlink-import-'));
  const dispose = () => rm(directory, { recursive: true, force: true });
  try {
    const path = join(directory, 'input');
    // Only its owner may read it: the rows may be confidential.
    const target = createWriteStream(path, { mode: 0o600 });
    await (signal === undefined ? pipeline(source, target) : pipeline(source, target, { signal }));
    return { path, name, size: (await stat(path)).size, dispose };
  } catch (error) {
    await dispose();
    throw temporaryError(error);
  }
}

/**
 * Finds out whether somebody writes to the input while it is being imported: its rows would no longer be those that were checked.
 * @returns a function that throws when the file is no longer what it was
 */
export async function inputGuard(input: Input): Promise<() => Promise<void>> {
  const before = await stat(input.path);
  return async () => {
    const now = await stat(input.path).catch((cause: unknown) => {
      throw inputError(
        `${input.name} was removed while it was being imported: ${systemReason(cause)}`,
        'Restore it and run the same command: it creates the links that are missing.',
      );
    });
    if (now.size !== before.size || now.mtimeMs !== before.mtimeMs || now.ino !== before.ino) {
      throw inputError(
        `${input.name} was changed while it was being imported`,
        'Run the same command again: it creates the links that are missing.',
      );
    }
  };
}
