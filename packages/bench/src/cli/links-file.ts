import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { LARGE_BATCH, targetUrl } from '../sdk/stub.ts';

/** A line of {@link writeLinksFile}: its first line, where the format has one, and those of its rows. */
export const csvLine = (row: number, place = row % LARGE_BATCH) =>
  row < 0
    ? 'target_url,title,tags\n'
    : `${targetUrl(place)},Catalogue item ${row} of the autumn collection,shop|autumn|item ${row}\n`;

export function jsonLine(row: number): string {
  if (row < 0) return '';
  const [target_url, title, tags] = csvLine(row).trimEnd().split(',');
  return `${JSON.stringify({ target_url, title, tags: tags?.split('|') })}\n`;
}

/** Rows written at once. */
const PIECE_ROWS = 1_000;

/**
 * Writes a file of `rows` links, in CSV about 126 bytes each. Every batch of {@link LARGE_BATCH} has the same target URLs,
 * since the stub answers every batch alike. No cell is quoted, so that the bare script may split at commas.
 */
export async function writeLinksFile(path: string, rows: number, line = csvLine): Promise<void> {
  await pipeline(Readable.from(pieces(rows, line)), createWriteStream(path));
}

function* pieces(rows: number, line: (row: number) => string): Generator<string> {
  yield line(-1);
  for (let first = 0; first < rows; first += PIECE_ROWS) {
    let text = '';
    for (let row = first; row < Math.min(rows, first + PIECE_ROWS); row += 1) text += line(row);
    yield text;
  }
}
