/** Stands in for `node:zlib` in the reader of tables: what Node unpacks on other threads is unpacked in one event here. */
import { Transform } from 'node:stream';
import { gunzipSync } from 'node:zlib';

export { constants, gunzipSync } from 'node:zlib';

const CHUNK_BYTES = 64 * 1024;

export function createGunzip(): Transform {
  const packed: Uint8Array[] = [];
  return new Transform({
    transform(bytes, _, done) {
      packed.push(bytes);
      done();
    },
    flush(done) {
      try {
        const whole = gunzipSync(Buffer.concat(packed));
        for (let at = 0; at < whole.length; at += CHUNK_BYTES)
          this.push(whole.subarray(at, at + CHUNK_BYTES));
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
}
