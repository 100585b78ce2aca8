import { open } from 'node:fs/promises';
import type { CliError } from '../../cli-error.ts';
import { inputError } from '../errors.ts';
import { LineCounter } from './lines.ts';

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

const BOMS: ReadonlyArray<{ bytes: readonly number[]; encoding: string }> = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: 'utf-8' },
  { bytes: [0xff, 0xfe], encoding: 'utf-16le' },
  { bytes: [0xfe, 0xff], encoding: 'utf-16be' },
];

/**
 * The encoding to read a file with, as the Encoding Standard names it. A byte order mark wins over a Unicode label
 * (the standard's rule for `decode`), so that `--encoding utf-16` reads both byte orders; any other label stands.
 */
function chooseEncoding(firstBytes: Uint8Array, label: string | undefined): string {
  const wanted = label === undefined ? 'utf-8' : canonicalName(label);
  if (!wanted.startsWith('utf-')) return wanted;
  const bom = BOMS.find(({ bytes }) => bytes.every((byte, index) => firstBytes[index] === byte));
  return bom?.encoding ?? wanted;
}

function canonicalName(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    throw inputError(
      `unknown encoding ${JSON.stringify(label)}`,
      'Use a label of the Encoding Standard, such as utf-8, utf-16le, windows-1252 or shift_jis.',
    );
  }
}

const CHUNK_BYTES = 256 * 1024;

/** More than the longest character of any encoding of the Encoding Standard. */
const LONGEST_CHARACTER_BYTES = 8;

/** Bytes of a bad sequence that the message shows. */
const SHOWN_BYTES = 4;

/**
 * Says where a file stops being text. Reading has failed in the chunk that begins at `chunkStart`, and a decoder tells
 * no position, so the file is read once more: whole chunks up to there, then byte by byte. The bad sequence begins
 * after the last byte that completed a character.
 */
async function invalidBytesError(
  path: string,
  name: string,
  encoding: string,
  chunkStart: number,
): Promise<CliError> {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  const lines = new LineCounter();
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES + LONGEST_CHARACTER_BYTES);
    const read = async (position: number, length: number) =>
      buffer.subarray(0, (await file.read(buffer, 0, length, position)).bytesRead);

    // Stopping some bytes early makes sure that a character which straddles the border is seen from its first byte.
    const careful = Math.max(0, chunkStart - LONGEST_CHARACTER_BYTES);
    for (let position = 0; position < careful; ) {
      const bytes = await read(position, Math.min(CHUNK_BYTES, careful - position));
      lines.add(decoder.decode(bytes, { stream: true }));
      position += bytes.length;
    }
    let good = careful;
    const bytes = await read(careful, CHUNK_BYTES + LONGEST_CHARACTER_BYTES);
    for (let index = 0; index < bytes.length; index += 1) {
      try {
        const text = decoder.decode(bytes.subarray(index, index + 1), { stream: true });
        lines.add(text);
        if (text !== '') good = careful + index + 1;
      } catch {
        break;
      }
    }
    const bad = [...(await read(good, SHOWN_BYTES))].map((byte) =>
      byte.toString(16).toUpperCase().padStart(2, '0'),
    );
    return inputError(
      `${name}, line ${lines.line}, byte ${good}: ${bad.join(' ')} is not ${encoding.toUpperCase()}`,
      'Save the file as UTF-8, or name its encoding: --encoding windows-1252',
    );
  } finally {
    await file.close();
  }
}
