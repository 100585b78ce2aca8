import { open } from 'node:fs/promises';
import { chooseEncoding } from './encodings.ts';
import { invalidBytesError } from './invalid-bytes.ts';

/** Bytes per read: large enough that the hop to the thread pool costs nothing, small enough to stay in the cache. */
const CHUNK_BYTES = 64 * 1024;

/** Room before each read for the beginning of a line that the read before it ended in. */
const CARRY_BYTES = 8 * 1024;

const LF = 10;

export interface DecodeOptions {
  /** Name of the file in messages. */
  name: string;
  /** `--encoding`; undefined is UTF-8, or UTF-16 by its byte order mark. */
  encoding: string | undefined;
  /** Called once with the encoding that was chosen. */
  onEncoding?: ((encoding: string) => void) | undefined;
  /** Called with the bytes of each read before they are decoded. They are overwritten later. */
  onBytes?: ((bytes: Uint8Array) => void) | undefined;
}

/**
 * The text of a file, in pieces, without its byte order mark. Characters are whole: a piece never ends inside one. It ends with
 * a line where lines are not longer than some kilobytes, so that whoever cuts it into rows has nothing to put together.
 *
 * @throws CliError (exit code 2) that names line and byte, when the bytes are not in the encoding
 */
export async function* decodeFile(path: string, options: DecodeOptions): AsyncGenerator<string> {
  const file = await open(path, 'r');
  let reading: ReturnType<typeof file.read<Buffer>> | undefined;
  try {
    // The next piece is read while this one is parsed.
    const size = CARRY_BYTES + CHUNK_BYTES;
    const buffers = [Buffer.allocUnsafe(size), Buffer.allocUnsafe(size)] as const;
    let turn: 0 | 1 = 0;
    const readNext = () => {
      const read = file.read(buffers[turn], CARRY_BYTES, CHUNK_BYTES, null);
      // It may fail before anybody awaits it; whoever does will see it.
      read.catch(() => {});
      return read;
    };
    reading = readNext();
    let decoder: InstanceType<typeof TextDecoder> | undefined;
    let offset = 0;
    let carry: Uint8Array = new Uint8Array();
    for (;;) {
      const { bytesRead, buffer } = await reading;
      const start = CARRY_BYTES - carry.length;
      const end = CARRY_BYTES + bytesRead;
      buffer.set(carry, start);
      turn = turn === 0 ? 1 : 0;
      if (bytesRead > 0) options.onBytes?.(buffer.subarray(CARRY_BYTES, end));
      const cut = bytesRead === 0 ? end : cutAtLine(buffer, start, end);
      carry = Uint8Array.from(buffer.subarray(cut, end));
      reading = readNext();
      const bytes = buffer.subarray(start, cut);
      if (decoder === undefined) {
        const encoding = chooseEncoding(buffer.subarray(start, end), options.encoding);
        options.onEncoding?.(encoding);
        decoder = new TextDecoder(encoding, { fatal: true });
      }
      let text: string;
      try {
        text = decoder.decode(bytes, { stream: bytesRead > 0 });
      } catch {
        throw await invalidBytesError(path, options.name, decoder.encoding, offset);
      }
      if (text !== '') yield text;
      if (bytesRead === 0) return;
      offset += bytes.length;
    }
  } finally {
    await reading?.catch(() => {});
    await file.close();
  }
}

/** Behind the last line break between `start` and `end`; at `end`, where too much would be carried over. */
function cutAtLine(buffer: Buffer, start: number, end: number): number {
  const cut = Math.max(start, buffer.lastIndexOf(LF, end - 1) + 1);
  return end - cut > CARRY_BYTES ? end : cut;
}
