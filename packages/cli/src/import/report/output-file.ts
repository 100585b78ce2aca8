import { constants } from 'node:fs';
import { access, lstat, open, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inputError, systemReason } from '@shortlink/tables/basics';
import { writeError } from '../folder.ts';
import { ignoreMissing, type OwnFiles } from './keep-changed.ts';
import { openReplacement } from './replacement.ts';
import { TextBuffer } from './text-buffer.ts';

export interface OutputFile {
  /** The path as the user named it. */
  readonly path: string;
  /** Where a promise is returned, it is awaited before more is written. */
  write(data: string | Uint8Array): Promise<void> | undefined;
  /** Puts a regular file in place. Resolves to where the file went that was there before, when a person had changed it. */
  finish(): Promise<string | undefined>;
  /** Does nothing after {@link finish}. */
  discard(): Promise<void>;
}

export interface OutputOptions {
  stdout: TextWritable;
  /** A file with another content is kept beside the new one. @default none is ours */
  ownFiles?: OwnFiles | undefined;
  /**
   * The option that names this output, where the user did not give it: then only a regular file is written, because a folder from someone else
   * could contain a symbolic link under the default name. @default symbolic links are followed
   */
  unusedOption?: string | undefined;
  /** Whether to wait a second to find out if the reader of standard output reads it to its end. @default false */
  awaitsReader?: boolean | undefined;
}

/** What we need of standard output. */
export interface TextWritable {
  write(bytes: Uint8Array, callback: (error?: Error | null) => void): unknown;
  /** Whether its reader has closed it before its end. */
  isClosed?(): boolean;
  /** Whether another program reads it. @default false */
  isPipe?: boolean | undefined;
}

/**
 * Opens an output. A regular file, also one behind a symbolic link, is replaced in one step at the end. Devices and pipes are written into.
 * Throws an InputError when it can't be written, before anything is sent.
 */
export async function openOutput(path: string, options: OutputOptions): Promise<OutputFile> {
  const { unusedOption } = options;
  if (path === '-') return standardOutput(options);
  try {
    const found = unusedOption === undefined ? undefined : await lstat(path).catch(ignoreMissing);
    if (found !== undefined && !found.isFile() && !found.isDirectory()) {
      throw inputError(
        `${path} is not written: it is ${found.isSymbolicLink() ? 'a symbolic link' : 'no regular file'}`,
        `Remove it, or name the file yourself: ${unusedOption} FILE`,
      );
    }
    const target = await followLinks(path);
    if (ownStream(target) === '1') return standardOutput(options);
    const stats = await stat(target).catch(ignoreMissing);
    if (stats?.isDirectory()) throw inputError(`${path} is a directory`, 'Name a file in it.');
    if (stats !== undefined && (!stats.isFile() || ownStream(target) !== undefined)) {
      const handle = await open(target, constants.O_WRONLY | constants.O_APPEND);
      const close = () => handle.close();
      return streamOutput(path, (bytes) => handle.writeFile(bytes), { close });
    }
    // A file that is protected against writing is not replaced either.
    if (stats !== undefined) await access(target, constants.W_OK);
    return await openReplacement(path, target, stats, options.ownFiles ?? {});
  } catch (cause) {
    if (!(cause instanceof Error) || !('syscall' in cause)) throw cause;
    throw inputError(`${path} can't be written: ${systemReason(cause)}`, 'Name another file.');
  }
}

const MAX_LINKS = 40;

/** The file that a path leads to, which may not be there yet. `/dev/stdout` leads to the file that the shell opened, which must not be replaced. */
async function followLinks(path: string): Promise<string> {
  let target = resolve(path);
  for (let links = 0; links < MAX_LINKS; links += 1) {
    if (ownStream(target) !== undefined) return target;
    const stats = await lstat(target).catch(ignoreMissing);
    if (!stats?.isSymbolicLink()) return stats === undefined ? target : await realpath(target);
    target = resolve(dirname(target), await readlink(target));
  }
  throw inputError(`${path} can't be written: it is a chain of symbolic links without an end`);
}

/** The number of the open file of this process that a path names. */
function ownStream(path: string): string | undefined {
  const found = /^(?:\/dev\/fd|\/proc\/(?:self|\d+)\/fd)\/(\d+)$/.exec(path)?.[1];
  return path === '/dev/stdout' ? '1' : path === '/dev/stderr' ? '2' : found;
}

/** Time for a reader of standard output to end, once it has read what it wants. */
const READER_ENDS_MS = 1_000;

function standardOutput({ stdout, awaitsReader = false }: OutputOptions): OutputFile {
  const write = (bytes: Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  const waitMs = awaitsReader && stdout.isPipe === true ? READER_ENDS_MS : 0;
  return streamOutput('-', write, { waitMs });
}

/** Standard output, a device or a pipe: what is written can't be taken back. */
function streamOutput(
  path: string,
  write: (bytes: Uint8Array) => Promise<void>,
  { close = async () => {}, waitMs = 0 },
): OutputFile {
  const buffer = new TextBuffer((bytes) =>
    write(bytes).catch((cause) => {
      throw writeError(path === '-' ? 'the output' : path, cause);
    }),
  );
  /** A line break, which is written alone at the end. */
  let last = '';
  return {
    path,
    write(data) {
      if (typeof data !== 'string') return buffer.write(data);
      const all = last + data;
      last = all.slice(-1);
      return buffer.write(all.slice(0, -1));
    },
    // A pipe accepts output that its reader never reads. A reader that stops early (`| head`) has closed it by the time of the last character.
    async finish() {
      try {
        await buffer.flush();
        if (waitMs > 0) await sleep(waitMs);
        await buffer.write(last);
        await buffer.flush();
      } finally {
        await close();
      }
      return undefined;
    },
    discard: close,
  };
}
