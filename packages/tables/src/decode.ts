import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { codeOf, type InputError, inputError, systemReason } from './errors.ts';
import { countLineBreaks } from './lines.ts';
import type { Packing } from './sniff.ts';

/** Bytes per read: large enough that the hop to the thread pool costs nothing, small enough to stay in the cache. */
const BLOCK_BYTES = 64 * 1024;

/** Room before each block for the beginning of a line that the block before it ended in. */
const CARRY_BYTES = 8 * 1024;

const LF = 10;

export interface DecodeOptions {
  /** Name of the file in messages. */
  name: string;
  /** `--encoding`; undefined is UTF-8, or UTF-16 by its byte order mark. */
  encoding?: string | undefined;
  /** `gzip`: the text is unpacked while it is read. */
  packing?: Packing | undefined;
  /** Called once with the encoding that was chosen, and whether a byte order mark is there. */
  onEncoding?: ((encoding: string, hasBom: boolean) => void) | undefined;
  /** Called with the number of bytes of each read of the file, still packed. */
  onBytes?: ((bytes: number) => void) | undefined;
}

/**
 * The text of a file, in pieces, without its byte order mark. Characters are whole: a piece never ends inside one. It ends with
 * a line where lines are not longer than some kilobytes, so that a reader of rows has nothing to put together.
 * @throws InputError that names line and byte, when the bytes are not in the encoding
 */
export async function* decodeFile(path: string, options: DecodeOptions): AsyncGenerator<string> {
  const { name, encoding: wanted, onEncoding } = options;
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let offset = 0;
  const decode = async (bytes: Uint8Array, isLast: boolean): Promise<string> => {
    if (decoder === undefined) {
      const { encoding, hasBom } = chooseEncoding(bytes, wanted);
      onEncoding?.(encoding, hasBom);
      decoder = new TextDecoder(encoding, { fatal: true });
    }
    try {
      // Node 22.13 reads windows-1252 as Latin 1 unless it streams.
      const text = decoder.decode(bytes, { stream: true });
      offset += bytes.length;
      return isLast ? text + decoder.decode() : text;
    } catch {
      const blocks = blocksOf(path, { ...options, onBytes: undefined });
      throw await invalidBytesError(blocks, name, decoder.encoding, offset);
    }
  };

  let carry = Buffer.alloc(0);
  for await (const block of blocksOf(path, options)) {
    const start = CARRY_BYTES - carry.length;
    carry.copy(block, start);
    const cut = cutAtLine(block, start);
    if (cut > start) yield await decode(block.subarray(start, cut), false);
    carry = Buffer.from(block.subarray(cut));
  }
  const text = await decode(carry, true);
  if (text !== '') yield text;
}

type BlockOptions = Pick<DecodeOptions, 'name' | 'packing' | 'onBytes'>;

/** The blocks of a file, each behind {@link CARRY_BYTES} of room. Their memory may be used again later. */
function blocksOf(path: string, options: BlockOptions): AsyncGenerator<Buffer> {
  return options.packing === 'gzip' ? unpackedBlocks(path, options) : readBlocks(path, options);
}

/** Memory of blocks that nothing reads into any more: a run opens many small files, one after the other. */
const FREE_BLOCKS: Buffer[] = [];

/** The blocks of a file. The next one is read while this one is parsed. */
async function* readBlocks(path: string, { onBytes }: BlockOptions): AsyncGenerator<Buffer> {
  const file = await open(path, 'r');
  const read = (into: Buffer) => {
    const reading = file.read(into, CARRY_BYTES, BLOCK_BYTES, null);
    // It may fail before it is awaited: the error is reported there.
    reading.catch(() => {});
    return reading;
  };
  const takeBlock = () => FREE_BLOCKS.pop() ?? Buffer.allocUnsafe(CARRY_BYTES + BLOCK_BYTES);
  const blocks = [takeBlock(), takeBlock()] as const;
  let spare: Buffer = blocks[0];
  let reading = read(blocks[1]);
  try {
    for (;;) {
      const { bytesRead, buffer } = await reading;
      if (bytesRead === 0) return;
      reading = read(spare);
      onBytes?.(bytesRead);
      yield buffer.subarray(0, CARRY_BYTES + bytesRead);
      spare = buffer;
    }
  } finally {
    await reading.catch(() => {});
    FREE_BLOCKS.push(...blocks);
    await file.close();
  }
}

/** The blocks of a gzip file, unpacked while they are read: however large it becomes, it takes no more memory. */
async function* unpackedBlocks(
  path: string,
  { name, onBytes }: BlockOptions,
): AsyncGenerator<Buffer> {
  const source = createReadStream(path, { highWaterMark: BLOCK_BYTES });
  if (onBytes !== undefined) source.on('data', ({ length }) => onBytes(length));
  const unpacked = createGunzip({ chunkSize: BLOCK_BYTES });
  // Errors of either come out of the one that is read.
  pipeline(source, unpacked, () => {});
  const room = Buffer.alloc(CARRY_BYTES);
  let line = 1;
  try {
    // What is unpacked while nobody reads comes in one, and is longer than a block.
    for await (const bytes of unpacked as AsyncIterable<Buffer>) {
      yield Buffer.concat([room, bytes]);
      for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) line += 1;
    }
  } catch (cause) {
    throw unpackError(name, line, cause);
  }
}

function unpackError(name: string, line: number, cause: unknown): InputError {
  const code = codeOf(cause);
  if (code === 'Z_BUF_ERROR') {
    return inputError(
      `${name} ends in the middle of its gzip data, about line ${line}`,
      'It was probably not copied or downloaded completely.',
    );
  }
  const what = code.startsWith('Z_') ? 'the gzip data is damaged' : systemReason(cause);
  return inputError(`${name} can't be unpacked: ${what}, about line ${line}`);
}

/** Behind the last line break after `start`; at the end, where too much would be carried over. */
function cutAtLine(block: Buffer, start: number): number {
  const cut = Math.max(start, block.lastIndexOf(LF) + 1);
  return block.length - cut > CARRY_BYTES ? block.length : cut;
}

const BOMS: ReadonlyArray<{ bytes: readonly number[]; encoding: string }> = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: 'utf-8' },
  { bytes: [0xff, 0xfe], encoding: 'utf-16le' },
  { bytes: [0xfe, 0xff], encoding: 'utf-16be' },
];

/**
 * The encoding to read a file with, as the Encoding Standard names it. A byte order mark wins over a Unicode label
 * (the standard's rule for `decode`), so that `--encoding utf-16` reads both byte orders. That of UTF-8 wins over every label: a file
 * that was filled in by an earlier run is UTF-8 from then on, and the command still names its old encoding.
 */
function chooseEncoding(firstBytes: Uint8Array, wanted = 'utf-8') {
  const bom = BOMS.find(({ bytes }) => bytes.every((byte, index) => firstBytes[index] === byte));
  const counts = bom !== undefined && (bom.encoding === 'utf-8' || wanted.startsWith('utf-'));
  return { encoding: counts ? bom.encoding : wanted, hasBom: counts };
}

/** More than the longest character of any encoding of the Encoding Standard. */
const LONGEST_CHARACTER_BYTES = 8;

const SHOWN_BYTES = 4;

/**
 * Says where a file stops being text. Reading has failed in the piece that begins at `pieceStart`, and a decoder reports
 * no position, so the file is read once more: whole blocks up to there, then byte by byte. The bad sequence begins
 * after the last byte that completed a character.
 */
async function invalidBytesError(
  blocks: AsyncIterable<Buffer>,
  name: string,
  encoding: string,
  pieceStart: number,
): Promise<InputError> {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  let line = 1;
  let last = '';
  const count = (text: string) => {
    // A CRLF may be cut in two.
    line += countLineBreaks(last + text) - countLineBreaks(last);
    last = text.slice(-1) || last;
  };
  // Stopping some bytes early makes sure that a character which straddles the border is seen from its first byte.
  const careful = Math.max(0, pieceStart - LONGEST_CHARACTER_BYTES);
  const rest: Buffer[] = [];
  let position = 0;
  for await (const block of blocks) {
    const known = CARRY_BYTES + Math.max(0, careful - position);
    count(decoder.decode(block.subarray(CARRY_BYTES, known), { stream: true }));
    rest.push(Buffer.from(block.subarray(known)));
    position += block.length - CARRY_BYTES;
    if (position > pieceStart + 2 * (BLOCK_BYTES + CARRY_BYTES)) break;
  }
  const bytes = Buffer.concat(rest);
  let good = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    try {
      const text = decoder.decode(bytes.subarray(index, index + 1), { stream: true });
      count(text);
      if (text !== '') good = index + 1;
    } catch {
      break;
    }
  }
  const bad = [...bytes.subarray(good, good + SHOWN_BYTES)].map((byte) =>
    byte.toString(16).toUpperCase().padStart(2, '0'),
  );
  const place = `line ${line}, byte ${careful + good}: ${bad.join(' ')} is not ${encoding.toUpperCase()}`;
  const how = `--encoding ${bytes.includes(0) ? 'utf-16le' : 'windows-1252'}`;
  if (/\.(?:xls\w?|ods)$/i.test(name)) {
    return inputError(
      `${name} is no workbook, and its ${place}`,
      `It is damaged or encrypted, so get it again. If it is a table as text: ${how}`,
    );
  }
  return inputError(`${name}, ${place}`, `Save the file as UTF-8, or name its encoding: ${how}`);
}
