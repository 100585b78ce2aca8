import { createHash } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { inputError } from '@shortlink/tables/basics';
import { hasCode } from '../../cli-error.ts';
import { nameBeside, partialName, removeLeftovers, syncFolder, writeError } from '../folder.ts';
import { ignoreMissing, keepChanged, type OwnFiles } from './keep-changed.ts';
import type { OutputFile } from './output-file.ts';
import { TextBuffer } from './text-buffer.ts';

/** Opens a new file beside `target`, which it will replace. `path` is how the user named it, `stats` are those of the file that is there. */
export async function openReplacement(
  path: string,
  target: string,
  stats: Stats | undefined,
  ownFiles: OwnFiles,
): Promise<OutputFile> {
  await removeLeftovers(target);
  const temporary = partialName(target);
  const hash = createHash('sha256');
  let handle: FileHandle | undefined;
  // `wx` follows no symbolic link, and the name can't be guessed.
  const opened = async () => {
    handle ??= await open(temporary, 'wx', stats === undefined ? 0o666 : 0o600);
    return handle;
  };
  // Never fails: what can't be removed now is removed by a later run.
  const discard = async () => {
    await handle?.close().catch(() => {});
    handle = undefined;
    await rm(temporary, { force: true }).catch(() => {});
  };
  const buffer = new TextBuffer(async (bytes) => {
    hash.update(bytes);
    try {
      const file = await opened();
      await file.writeFile(bytes);
    } catch (cause) {
      throw writeError(path, cause);
    }
  });
  const finish = async () => {
    try {
      await buffer.flush();
      const content = hash.digest('hex');
      const file = await opened();
      if (stats !== undefined) await keepRights(file, stats);
      await file.sync();
      await file.close();
      handle = undefined;
      const kept = await keepChanged(target, { path: temporary, content }, ownFiles);
      ownFiles.willWrite?.(content);
      await putInPlace(temporary, target);
      await syncFolder(dirname(target));
      return resolve(path) === target ? kept?.replace(target, () => path) : kept;
    } catch (cause) {
      throw writeError(path, cause);
    }
  };
  // That the file can be created is known now. Until its first text there is none, so that a killed run leaves nothing behind.
  await opened();
  await discard();
  return { path, write: (data) => buffer.write(data), finish, discard };
}

/** Mode and, where we may, owner of the file that is replaced. */
async function keepRights(handle: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  await handle.chown(uid, gid).catch(() => {});
  await handle.chmod(mode & 0o777);
}

/**
 * A file that is mounted by itself (into a container) gets the new content instead. A killed run would leave a part of it, so a whole copy
 * has a name of its own until then, which the next run finds (see {@link finishReplacement}).
 */
async function putInPlace(temporary: string, target: string): Promise<void> {
  try {
    await rename(temporary, target);
  } catch (error) {
    if (!hasCode(error, 'EBUSY', 'EXDEV')) throw error;
    await overwrite(target, async () => {
      await rename(temporary, wholeName(target));
      await syncFolder(dirname(target));
    });
  }
}

/** `prepare` is done once it is known that the file can be written. The copy is removed once all is written and synced. */
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
 * Ends what a killed run has begun in a file that can't be replaced. Call it while no other run imports. Throws an InputError where
 * somebody has changed the file since, or nothing may be written, as in a dry run.
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

/** Whether a file is only the beginning of the whole one, and zeros that a power cut has left. */
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
  return nameBeside(target, `${id}.whole`);
}
