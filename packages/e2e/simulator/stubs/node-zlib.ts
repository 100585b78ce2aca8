/** Stands in for `node:zlib` in the reader of tables: what Node unpacks on other threads is unpacked in one event here. */
import { gunzipSync } from 'node:zlib';

export { constants, gunzipSync } from 'node:zlib';

const CHUNK_BYTES = 64 * 1024;

class Unpacked {
  /** What is unpacked, set by `pipeline`. */
  source: AsyncIterable<Uint8Array> | undefined;

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    const packed: Uint8Array[] = [];
    for await (const bytes of this.source ?? []) packed.push(Buffer.from(bytes));
    const whole = gunzipSync(Buffer.concat(packed));
    for (let at = 0; at < whole.length; at += CHUNK_BYTES)
      yield whole.subarray(at, at + CHUNK_BYTES);
  }
}

export function createGunzip(): Unpacked {
  return new Unpacked();
}
