import { open } from 'node:fs/promises';
import { chooseEncoding } from './encodings.ts';
import { invalidBytesError } from './invalid-bytes.ts';

/** Bytes per read: large enough that the hop to the thread pool costs nothing, small enough to stay in the cache. */
const CHUNK_BYTES = 64 * 1024;

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
 * The text of a file, in pieces, without its byte order mark. Characters are whole: a piece never ends inside one.
 *
 * @throws CliError (exit code 2) that names line and byte, when the bytes are not in the encoding
 */
export async function* decodeFile(path: string, options: DecodeOptions): AsyncGenerator<string> {
  const file = await open(path, 'r');
  let reading: ReturnType<typeof file.read<Buffer>> | undefined;
  try {
    // The next piece is read while this one is parsed.
    const buffers = [Buffer.allocUnsafe(CHUNK_BYTES), Buffer.allocUnsafe(CHUNK_BYTES)] as const;
    let turn: 0 | 1 = 0;
    const readNext = () => {
      const read = file.read(buffers[turn], 0, CHUNK_BYTES, null);
      // It may fail before anybody awaits it; whoever does will see it.
      read.catch(() => {});
      return read;
    };
    reading = readNext();
    let decoder: InstanceType<typeof TextDecoder> | undefined;
    let offset = 0;
    for (;;) {
      const { bytesRead, buffer } = await reading;
      const bytes = buffer.subarray(0, bytesRead);
      turn = turn === 0 ? 1 : 0;
      reading = readNext();
      if (bytesRead > 0) options.onBytes?.(bytes);
      if (decoder === undefined) {
        const encoding = chooseEncoding(bytes, options.encoding);
        options.onEncoding?.(encoding);
        decoder = new TextDecoder(encoding, { fatal: true });
      }
      let text: string;
      try {
        text = bytesRead > 0 ? decoder.decode(bytes, { stream: true }) : decoder.decode();
      } catch {
        throw await invalidBytesError(path, options.name, decoder.encoding, offset);
      }
      if (text !== '') yield text;
      if (bytesRead === 0) return;
      offset += bytesRead;
    }
  } finally {
    await reading?.catch(() => {});
    await file.close();
  }
}
