import { randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryError } from '@shortlink/tables/basics';

export type Spool<T> = Awaited<ReturnType<typeof openSpool<T>>>;

/**
 * Values that wait on the disk until they are read again: a million links would take hundreds of megabytes. Their file loses its name at
 * once, so that nothing of it is left, however the process ends.
 */
export async function openSpool<T>() {
  const path = join(tmpdir(), `shortlink-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await rm(path);
  const sizes: number[] = [];
  return {
    add: async (value: T): Promise<void> => {
      const bytes = Buffer.from(JSON.stringify(value));
      // Unlike one write, it writes all bytes, or fails.
      await file.writeFile(bytes).catch((error: unknown) => {
        throw temporaryError(error);
      });
      sizes.push(bytes.length);
    },
    async *read(): AsyncGenerator<T> {
      let start = 0;
      for (const size of sizes) {
        const { buffer } = await file.read(Buffer.alloc(size), 0, size, start);
        yield JSON.parse(buffer.toString());
        start += size;
      }
    },
    close: () => file.close(),
  };
}
