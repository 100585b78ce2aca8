import { open, rename, rm } from 'node:fs/promises';

/**
 * Writes a file whole or not at all: to a new file beside it, synced, then renamed over it. A reader sees the old
 * content or the new, and a crash leaves the old. `mode` is set when the file is made, so that a secret is at no
 * moment readable by others.
 */
export async function writeFileAtomic(path: string, text: string, mode = 0o666): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
