import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { inputError, writeError } from '../errors.ts';
import { syncFolder } from '../sync-folder.ts';
import { hasCode, ignoreMissing, keepChanged, type OwnFiles } from './keep-changed.ts';
import type { OutputFile } from './output-file.ts';
import { TextBuffer } from './text-buffer.ts';

/**
 * Opens a new file that will replace `target`.
 *
 * @param path - as the user named it
 * @param stats - of the file that is there
 * @param ownFiles - what may be replaced without being kept
 */
export async function openReplacement(
  path: string,
  target: string,
  stats: Stats | undefined,
  ownFiles: OwnFiles,
): Promise<OutputFile> {
  await removeLeftovers(target);
  const replacement = new Replacement(path, target, stats, ownFiles);
  // That the file can be created is known now. It is created with the first text, so that a run that is killed while it waits for
  // the service leaves nothing behind.
  await replacement.open();
  await replacement.discard();
  return replacement;
}

/** A new file beside the one that it replaces. */
class Replacement implements OutputFile {
  readonly path: string;
  readonly #target: string;
  readonly #temporary: string;
  readonly #stats: Stats | undefined;
  readonly #ownFiles: OwnFiles;
  readonly #buffer = new TextBuffer((bytes) => this.#append(bytes));
  readonly #hash = createHash('sha256');
  #handle: FileHandle | undefined;

  constructor(path: string, target: string, stats: Stats | undefined, ownFiles: OwnFiles) {
    this.path = path;
    this.#target = target;
    this.#temporary = temporaryName(target);
    this.#stats = stats;
    this.#ownFiles = ownFiles;
  }

  /** `wx` follows no symbolic link, and the name can't be guessed. */
  async open(): Promise<FileHandle> {
    const mode = this.#stats === undefined ? 0o666 : 0o600;
    this.#handle ??= await open(this.#temporary, 'wx', mode);
    return this.#handle;
  }

  write(data: string | Uint8Array): Promise<void> | undefined {
    return this.#buffer.write(data);
  }

  async finish(): Promise<string | undefined> {
    try {
      await this.#buffer.flush();
      const content = this.#hash.digest('hex');
      const handle = await this.open();
      if (this.#stats !== undefined) await keepRights(handle, this.#stats);
      await handle.sync();
      await handle.close();
      this.#handle = undefined;
      const kept = await keepChanged(this.#target, content, this.#ownFiles);
      this.#ownFiles.willWrite(content);
      await putInPlace(this.#temporary, this.#target);
      await syncFolder(dirname(this.#target));
      const isNamed = resolve(this.path) === this.#target;
      return isNamed ? kept?.replace(this.#target, () => this.path) : kept;
    } catch (cause) {
      await this.discard();
      throw writeError(this.path, cause);
    }
  }

  /** Never fails: what can't be removed now is removed by a later run. */
  async discard(): Promise<void> {
    await this.#handle?.close().catch(() => {});
    this.#handle = undefined;
    await rm(this.#temporary, { force: true }).catch(() => {});
  }

  async #append(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    try {
      const handle = await this.open();
      await handle.writeFile(bytes);
    } catch (cause) {
      throw writeError(this.path, cause);
    }
  }
}

/** Mode and, where we may, owner of the file that is replaced. */
async function keepRights(handle: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  await handle.chown(uid, gid).catch(() => {});
  await handle.chmod(mode & 0o777);
}

/**
 * A file that is mounted by itself (into a container) can't be replaced: it gets the new content. That takes a moment in which the process may be
 * killed, so a whole copy has a name of its own until then. The next run finds it (see {@link finishReplacement}).
 */
async function putInPlace(temporary: string, target: string): Promise<void> {
  try {
    await rename(temporary, target);
  } catch (error) {
    if (!hasCode(error, 'EBUSY') && !hasCode(error, 'EXDEV')) throw error;
    await overwrite(target, async () => {
      await rename(temporary, wholeName(target));
      await syncFolder(dirname(target));
    });
  }
}

/**
 * Nothing is removed before all of it is written and synced.
 *
 * @param prepare - done once it is known that the file can be written, and before its content is touched
 */
async function overwrite(target: string, prepare = async () => {}): Promise<void> {
  const handle = await open(target, 'r+');
  try {
    await prepare();
    await handle.truncate();
    for await (const bytes of createReadStream(wholeName(target))) await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rm(wholeName(target), { force: true });
}

/**
 * Ends what a run has begun that was killed while it wrote into a file which can't be replaced. Call it while no other run imports.
 *
 * @param mayWrite - not in a dry run
 * @throws CliError (exit code 2) where somebody has changed the file since, or nothing may be written
 */
export async function finishReplacement(path: string, mayWrite: boolean): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const whole = wholeName(target);
  if ((await lstat(whole).catch(ignoreMissing))?.isFile() !== true) return;
  const isThere = (await lstat(target).catch(ignoreMissing)) !== undefined;
  if (!mayWrite || (isThere && !(await isCut(target)))) {
    throw inputError(
      `${path} may have been cut: a run was stopped while it wrote the file. Its whole content is in ${whole}`,
      `Copy that over ${path}, or remove it where ${path} is as you want it.`,
    );
  }
  await (isThere ? overwrite(target) : rename(whole, target)).catch((cause) => {
    throw writeError(path, cause);
  });
}

/** Whether a file is no more than the beginning of the whole one, and zeros that a power cut has left. */
async function isCut(target: string): Promise<boolean> {
  const whole = createReadStream(wholeName(target))[Symbol.asyncIterator]();
  try {
    let expected = Buffer.alloc(0);
    for await (const bytes of createReadStream(target) as AsyncIterable<Buffer>) {
      while (expected.length < bytes.length) {
        const { done, value } = await whole.next();
        if (done) return false;
        expected = Buffer.concat([expected, value]);
      }
      if (bytes.some((byte, index) => byte !== 0 && byte !== expected[index])) return false;
      expected = expected.subarray(bytes.length);
    }
    return true;
  } finally {
    await whole.return?.();
  }
}

function wholeName(target: string): string {
  const id = createHash('sha256').update(basename(target)).digest('hex').slice(0, 24);
  return join(dirname(target), `${temporaryPrefix(target)}${id}.whole`);
}

/** A killed run leaves its file behind. One that is older than a day belongs to no run that still writes. */
const LEFTOVER_MS = 24 * 60 * 60 * 1000;

const TEMPORARY_END = '.partial';

function temporaryName(target: string): string {
  const random = randomBytes(12).toString('hex');
  return join(dirname(target), `${temporaryPrefix(target)}${random}${TEMPORARY_END}`);
}

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
