import { open } from 'node:fs/promises';

/** What systems and file systems say that can't sync a folder, or let nobody open one. Names are durable there by other means, or not at all. */
const CAN_NOT = ['EINVAL', 'EPERM', 'EACCES', 'EISDIR', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EBADF'];

/**
 * Makes the names in a folder durable: a new file, or one that was renamed, could be gone after a power cut.
 *
 * @throws the error of the operating system, where the folder could be synced and was not, such as on a broken disk
 */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!CAN_NOT.includes(code)) throw error;
  }
}
