import { open } from 'node:fs/promises';
import { chooseEncoding } from './encodings.ts';
import { invalidBytesError } from './invalid-bytes.ts';

/** Bytes per read: large enough that the hop to the thread pool costs nothing, small enough to stay in the cache. */
const BLOCK_BYTES = 64 * 1024;

/** Room before each block for the beginning of a line that the block before it ended in. */
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
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let offset = 0;
  const decode = async (bytes: Uint8Array, isLast: boolean): Promise<string> => {
    if (decoder === undefined) {
      const encoding = chooseEncoding(bytes, options.encoding);
      options.onEncoding?.(encoding);
      decoder = new TextDecoder(encoding, { fatal: true });
    }
    try {
      const text = decoder.decode(bytes, { stream: !isLast });
      offset += bytes.length;
      return text;
    } catch {
      throw await invalidBytesError(path, options.name, decoder.encoding, offset);
    }
  };

  let carry = Buffer.alloc(0);
  for await (const { buffer, end } of readBlocks(path)) {
    options.onBytes?.(buffer.subarray(CARRY_BYTES, end));
    const start = CARRY_BYTES - carry.length;
    carry.copy(buffer, start);
    const cut = cutAtLine(buffer, start, end);
    if (cut > start) yield await decode(buffer.subarray(start, cut), false);
    carry = Buffer.from(buffer.subarray(cut, end));
  }
  const text = await decode(carry, true);
  if (text !== '') yield text;
}

/**
 * The blocks of a file, each from {@link CARRY_BYTES} to `end` of its buffer, which is used again later. The next one is read while
 * this one is parsed.
 */
async function* readBlocks(path: string): AsyncGenerator<{ buffer: Buffer; end: number }> {
  const file = await open(path, 'r');
  const read = (into: Buffer) => {
    const reading = file.read(into, CARRY_BYTES, BLOCK_BYTES, null);
    // It may fail before anybody awaits it; whoever does will see it.
    reading.catch(() => {});
    return reading;
  };
  const size = CARRY_BYTES + BLOCK_BYTES;
  let spare: Buffer = Buffer.allocUnsafe(size);
  let reading = read(Buffer.allocUnsafe(size));
  try {
    for (;;) {
      const { bytesRead, buffer } = await reading;
      if (bytesRead === 0) return;
      reading = read(spare);
      yield { buffer, end: CARRY_BYTES + bytesRead };
      spare = buffer;
    }
  } finally {
    await reading.catch(() => {});
    await file.close();
  }
}

/** Behind the last line break between `start` and `end`; at `end`, where too much would be carried over. */
function cutAtLine(buffer: Buffer, start: number, end: number): number {
  const cut = Math.max(start, buffer.lastIndexOf(LF, end - 1) + 1);
  return end - cut > CARRY_BYTES ? end : cut;
}
