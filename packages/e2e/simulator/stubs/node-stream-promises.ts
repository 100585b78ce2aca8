/** Stands in for `node:stream/promises` in the CLI: Node's own streams take ticks that belong to no event of the simulation. */
import type { Hash } from 'node:crypto';
import { FileWriter } from './node-fs.ts';

export async function pipeline(
  source: AsyncIterable<Uint8Array | string>,
  target: FileWriter | Hash,
  options?: { signal?: AbortSignal },
): Promise<void> {
  try {
    for await (const bytes of source) {
      options?.signal?.throwIfAborted();
      if (target instanceof FileWriter) await target.write(Buffer.from(bytes));
      else target.update(bytes);
    }
  } finally {
    if (target instanceof FileWriter) await target.close();
  }
}
