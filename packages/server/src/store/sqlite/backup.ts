import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { link, lstat, open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileBeside } from '../../start-thread.ts';
import { StoreError } from '../store-error.ts';
import type { BackupFailure } from './backup-process.ts';
import { absolutePath, checkExists } from './open-file.ts';

/**
 * Writes a compacted copy of this moment into a new file that only its owner can read, and waits for the disk; writes of a server go on. Until the
 * copy is whole it is called `<name>.<random>.part`, which is all that a crash leaves behind. The signal interrupts it.
 * @throws StoreError when the file exists, there is no database, either can't be read or written, or it was interrupted; no half copy stays
 */
export async function backupSqlite(
  path: string,
  file: string,
  signal?: AbortSignal,
): Promise<void> {
  checkName(file);
  checkExists(path);
  await checkFree(file);
  // SQLite would take a name that begins with "file:" for a URL.
  const part = `${resolve(file)}.${randomBytes(4).toString('hex')}.part`;
  const copy = await open(part, 'wx', 0o600).catch((cause: NodeJS.ErrnoException) => {
    const message = `The backup file ${file} can not be made (${cause.code ?? cause}). Its folder must exist and be writable.`;
    throw new StoreError('unavailable', message, { cause });
  });
  try {
    await copyInProcess(absolutePath(path), part, signal).catch((error: unknown) => {
      // Only the copy grows.
      if (!(error instanceof StoreError) || error.reason !== 'full') throw error;
      const message = `The backup file ${file} can not be written: no space is left.`;
      throw new StoreError('full', message, { cause: error });
    });
    // SQLite writes into an empty file, but leaves it to us to wait for the disk.
    await copy.sync();
    await giveName(part, file);
  } finally {
    await copy.close();
    for (const left of [part, `${part}-journal`]) await rm(left, { force: true });
  }
}

/** A folder is found out only when the copy gets its name, which can be minutes later. */
function checkName(file: string): void {
  if (!/(?:^|[/\\])\.{0,2}$/.test(file)) return;
  const message = `${JSON.stringify(file)} is no name of a file. Name the file to write the backup to, such as backup.db.`;
  throw new StoreError('unavailable', message);
}

/** Files beside it count too: SQLite would take an old one for changes of the backup, and carry them out in it. */
async function checkFree(file: string): Promise<void> {
  for (const name of [file, `${file}-journal`, `${file}-wal`]) {
    if ((await lstat(name).catch(() => undefined)) !== undefined) throw taken(name);
  }
}

function taken(file: string, cause?: unknown): StoreError {
  const message = `The file ${file} exists already. Choose another name for the backup, or delete that file first.`;
  return new StoreError('unavailable', message, { cause });
}

/** Gives a whole copy its name, unless another file has got that name meanwhile, and waits for the disk. */
async function giveName(part: string, file: string): Promise<void> {
  try {
    // Unlike `rename`, this never overwrites.
    await link(part, file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') {
      throw taken(file, error);
    }
    // Some file systems have no hard links.
    await checkFree(file);
    await rename(part, file);
  }
  // Not every system can wait for a folder. SQLite too takes the name of a new file for written then.
  const folder = await open(dirname(file)).catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}

/** Copies in a process of its own, which alone can be stopped. It has ended when this settles, so that nobody writes the part any more. */
async function copyInProcess(path: string, part: string, signal?: AbortSignal): Promise<void> {
  const child = fork(fileBeside('backup-process', import.meta.url), [path, part], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // Ctrl-C goes to all processes of a terminal's group. This one is ended from here.
    detached: true,
  });
  const kill = () => child.kill('SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  if (signal?.aborted) kill();
  const failures: BackupFailure[] = [];
  child.on('message', (failure: BackupFailure) => failures.push(failure));
  const [code, killer] = await once(child, 'close');
  if (signal?.aborted) throw new StoreError('unavailable', 'The backup was interrupted.');
  if (code === 0) return;
  const [told] = failures;
  const message = told?.message ?? `The process that copies ended with ${killer ?? code}.`;
  throw new StoreError(told?.reason ?? 'internal', message);
}
