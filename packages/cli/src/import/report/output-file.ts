import { createHash, randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import {
  access,
  copyFile,
  type FileHandle,
  lstat,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  utimes,
} from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { inputError, systemReason, writeError } from '../errors.ts';
import { hasCode, ignoreMissing, keepChanged, ownTime } from './keep-changed.ts';
import { TextBuffer } from './text-buffer.ts';

/** A file, device, pipe or standard output that is being written. */
export interface OutputFile {
  /** As the user named it. */
  readonly path: string;
  /** Adds text. Where a promise is returned, it is awaited before more is written. */
  write(text: string): Promise<void> | undefined;
  /** Writes what is left, and puts a regular file in place. */
  finish(): Promise<Written>;
  /** Discards what was written, as far as that is possible. Does nothing after {@link finish}. */
  discard(): Promise<void>;
}

/** What {@link OutputFile.finish} did. */
export interface Written {
  /** Of the content, for `previous` of the next {@link openOutput}; undefined for a device, a pipe and standard output. */
  fingerprint: string | undefined;
  /** Where the file went that was there before, when a person had changed it. */
  kept: string | undefined;
}

export interface OutputOptions {
  /** Written for the path `-`. */
  stdout: TextWritable;
  /**
   * Fingerprint of what is there: of the last content that we wrote, or of the input as it was read. A file with any other content is
   * kept beside the new one. @default a file of ours is known by the time that we gave it
   */
  previous?: string | undefined;
  /**
   * The option that names this output, where the user did not give it. A folder from someone else could contain a symbolic link under the
   * default name, so only a regular file is written then. @default symbolic links are followed
   */
  unusedOption?: string | undefined;
}

/** What we need of standard output. */
export interface TextWritable {
  write(bytes: Uint8Array, callback: (error?: Error | null) => void): unknown;
  /** Whether its reader has closed it, so that some of the output was not read. */
  isClosed?(): boolean;
}

/**
 * Opens an output. A regular file is replaced in one step when it is finished, so that a reader sees the old content or the new;
 * where the path is a link, its target is replaced and the link stays. Devices and pipes are written into.
 *
 * @throws CliError (exit code 2) when it can't be written, before anything is sent
 */
export async function openOutput(path: string, options: OutputOptions): Promise<OutputFile> {
  if (path === '-') return new Stream(path, stdoutWriter(options.stdout));
  try {
    const { unusedOption } = options;
    const found = unusedOption === undefined ? undefined : await lstat(path).catch(ignoreMissing);
    if (found !== undefined && !found.isFile() && !found.isDirectory()) {
      throw inputError(
        `${path} is not written: it is ${found.isSymbolicLink() ? 'a symbolic link' : 'no regular file'}`,
        `Remove it, or name the file yourself: ${unusedOption} FILE`,
      );
    }
    const target = await followLinks(path);
    if (isOwnStream(target, 1)) return new Stream(path, stdoutWriter(options.stdout));
    const stats = await stat(target).catch(ignoreMissing);
    if (stats?.isDirectory()) throw inputError(`${path} is a directory`, 'Name a file in it.');
    if (stats !== undefined && (!stats.isFile() || isOwnStream(target))) {
      const handle = await open(target, constants.O_WRONLY | constants.O_APPEND);
      return new Stream(path, (bytes) => handle.writeFile(bytes), handle);
    }
    // A file that is protected against writing is not replaced either.
    if (stats !== undefined) await access(target, constants.W_OK);
    return await openReplacement(path, target, stats, options.previous);
  } catch (cause) {
    if (!(cause instanceof Error) || !('syscall' in cause)) throw cause;
    throw inputError(`${path} can't be written: ${systemReason(cause)}`, 'Name another file.');
  }
}

/** As many as Linux follows. */
const MAX_LINKS = 40;

/**
 * The file that a path leads to, also where the last link points to a file that isn't there yet. Streams of this process are not
 * followed: `/dev/stdout` leads to the file that the shell opened, which must be written into and not replaced.
 */
async function followLinks(path: string): Promise<string> {
  let target = resolve(path);
  for (let links = 0; links < MAX_LINKS; links += 1) {
    if (isOwnStream(target)) return target;
    const stats = await lstat(target).catch(ignoreMissing);
    if (!stats?.isSymbolicLink()) return stats === undefined ? target : await realpath(target);
    target = resolve(dirname(target), await readlink(target));
  }
  throw inputError(`${path} can't be written: it is a chain of symbolic links without an end`);
}

/** Whether a path names an open file of this process, such as `/dev/stdout` or `/dev/fd/3`. */
function isOwnStream(path: string, descriptor?: number): boolean {
  const found = /^(?:\/dev\/fd|\/proc\/(?:self|\d+)\/fd)\/(\d+)$/.exec(path)?.[1];
  const named = path === '/dev/stdout' ? '1' : path === '/dev/stderr' ? '2' : found;
  return named !== undefined && (descriptor === undefined || named === String(descriptor));
}

/** Time for a reader of standard output to end once it has read what it wants. */
const READER_LEAVES_MS = 50;

/** Standard output, a device or a pipe: what is written can't be taken back. */
class Stream implements OutputFile {
  readonly path: string;
  readonly #buffer: TextBuffer;
  #handle: FileHandle | undefined;
  /** The last character so far, a line break, which is written alone at the end. */
  #last = '';

  constructor(path: string, write: (bytes: Uint8Array) => Promise<void>, handle?: FileHandle) {
    this.path = path;
    this.#handle = handle;
    this.#buffer = new TextBuffer((bytes) => write(bytes).catch((cause) => fail(path, cause)));
  }

  write(text: string): Promise<void> | undefined {
    const all = this.#last + text;
    this.#last = all.slice(-1);
    return this.#buffer.write(all.slice(0, -1));
  }

  /**
   * A pipe accepts output that its reader never reads. A reader that reads to the end still waits for the last character. One that
   * stops early (`| head`) has closed the pipe by now, so that this write fails.
   */
  async finish(): Promise<Written> {
    await this.#buffer.flush();
    if (this.path === '-') await setTimeout(READER_LEAVES_MS);
    await this.#buffer.write(this.#last);
    await this.#buffer.flush();
    await this.discard();
    return { fingerprint: undefined, kept: undefined };
  }

  async discard(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }
}

function stdoutWriter(stdout: TextWritable): (bytes: Uint8Array) => Promise<void> {
  return (bytes) =>
    new Promise((resolveWrite, reject) => {
      stdout.write(bytes, (error) => (error ? reject(error) : resolveWrite()));
    });
}

async function openReplacement(
  path: string,
  target: string,
  stats: Stats | undefined,
  previous: string | undefined,
): Promise<OutputFile> {
  await removeLeftovers(target);
  const temporary = join(
    dirname(target),
    `${temporaryPrefix(target)}${randomBytes(12).toString('hex')}${TEMPORARY_END}`,
  );
  const replacement = new Replacement({ path, target, temporary, stats, previous });
  // That the file can be created is known now. It is created with the first text, so that a run that is killed while it waits for
  // the service leaves nothing behind.
  await replacement.open();
  await replacement.discard();
  return replacement;
}

interface ReplacementParts {
  path: string;
  target: string;
  temporary: string;
  /** Of the file that was there when it was opened. */
  stats: Stats | undefined;
  previous: string | undefined;
}

/** A new file beside the one that it replaces. */
class Replacement implements OutputFile {
  readonly path: string;
  readonly #parts: ReplacementParts;
  readonly #buffer: TextBuffer;
  readonly #hash = createHash('sha256');
  #handle: FileHandle | undefined;

  constructor(parts: ReplacementParts) {
    this.path = parts.path;
    this.#parts = parts;
    this.#buffer = new TextBuffer(async (bytes) => {
      this.#hash.update(bytes);
      try {
        const handle = await this.open();
        await handle.writeFile(bytes);
      } catch (cause) {
        fail(parts.path, cause);
      }
    });
  }

  /** `wx` follows no symbolic link, and the name can't be guessed. */
  async open(): Promise<FileHandle> {
    const { temporary, stats } = this.#parts;
    this.#handle ??= await open(temporary, 'wx', stats === undefined ? 0o666 : 0o600);
    return this.#handle;
  }

  write(text: string): Promise<void> | undefined {
    return this.#buffer.write(text);
  }

  async finish(): Promise<Written> {
    await this.#buffer.flush();
    const { path, target, temporary, stats, previous } = this.#parts;
    const content = this.#hash.digest('hex');
    try {
      const handle = await this.open();
      if (stats !== undefined) await keepRights(handle, stats);
      await handle.utimes(Date.now() / 1000, ownTime(content));
      await handle.sync();
      await handle.close();
      this.#handle = undefined;
      const kept = await keepChanged(target, content, previous);
      await putInPlace(temporary, target, ownTime(content));
      await syncDirectory(dirname(target));
      return { fingerprint: content, kept };
    } catch (cause) {
      await this.discard();
      throw writeError(path, cause);
    }
  }

  async discard(): Promise<void> {
    await this.#handle?.close().catch(() => {});
    this.#handle = undefined;
    await rm(this.#parts.temporary, { force: true });
  }
}

/** Mode and, where we may, owner of the file that is replaced. */
async function keepRights(handle: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  await handle.chown(uid, gid).catch(() => {});
  await handle.chmod(mode & 0o777);
}

/** A file that is mounted by itself (into a container) can't be replaced: it gets the new content. */
async function putInPlace(temporary: string, target: string, time: number): Promise<void> {
  try {
    await rename(temporary, target);
  } catch (error) {
    if (!hasCode(error, 'EBUSY') && !hasCode(error, 'EXDEV')) throw error;
    await copyFile(temporary, target);
    await utimes(target, time, time);
    await rm(temporary, { force: true });
  }
}

/** Makes the rename durable, where folders can be synced at all. */
async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r').catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

/** A killed run leaves its file behind. One that is older than a day belongs to no run that still writes. */
const LEFTOVER_MS = 24 * 60 * 60 * 1000;

const TEMPORARY_END = '.partial';

/** File names have at most 255 bytes. */
function temporaryPrefix(target: string): string {
  return `.${basename(target).slice(0, 60)}.`;
}

async function removeLeftovers(target: string): Promise<void> {
  const directory = dirname(target);
  const prefix = temporaryPrefix(target);
  for (const name of await readdir(directory)) {
    const middle = name.slice(prefix.length, -TEMPORARY_END.length);
    const isTemporary = name.startsWith(prefix) && name.endsWith(TEMPORARY_END);
    if (!isTemporary || !/^[0-9a-f]{24}$/.test(middle)) continue;
    const stats = await lstat(join(directory, name)).catch(() => undefined);
    if (stats?.isFile() && Date.now() - stats.mtimeMs > LEFTOVER_MS) {
      await rm(join(directory, name), { force: true });
    }
  }
}

function fail(path: string, cause: unknown): never {
  throw writeError(path === '-' ? 'the output' : path, cause);
}
