import { open } from 'node:fs/promises';
import type { CliError } from '../cli-error.ts';
import { inputError } from './input-error.ts';
import { LineCounter } from './line-counter.ts';

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
export async function invalidBytesError(
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
