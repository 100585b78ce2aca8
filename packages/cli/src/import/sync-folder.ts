import { open } from 'node:fs/promises';

/** Errors of systems that can't sync a folder, or let nobody open one. */
const CAN_NOT = ['EINVAL', 'EPERM', 'EACCES', 'EISDIR', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EBADF'];

/** Makes new and renamed files in a folder durable. Throws the system's error where the folder could be synced and was not. */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    await folder.sync().finally(() => folder.close());
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!CAN_NOT.includes(code)) throw error;
  }
}
