import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { LARGE_BATCH } from '../sdk/batch-sizes.ts';
import { targetUrl } from '../sdk/stub-answers.ts';

/** Columns of {@link writeLinksFile}. */
export const COLUMNS = 'target_url,title,tags';

/** Rows written at once. */
const PIECE_ROWS = 1_000;

/**
 * Writes a CSV file of `rows` links, about 126 bytes each. Every batch of {@link LARGE_BATCH} has the same target URLs, since
 * the stub answers every batch alike. No cell is quoted, so that the bare script may split at commas.
 */
export async function writeLinksFile(path: string, rows: number): Promise<void> {
  await pipeline(Readable.from(pieces(rows)), createWriteStream(path));
}

function* pieces(rows: number): Generator<string> {
  yield `${COLUMNS}\n`;
  for (let first = 0; first < rows; first += PIECE_ROWS) {
    let text = '';
    for (let row = first; row < Math.min(rows, first + PIECE_ROWS); row += 1) {
      text += `${targetUrl(row % LARGE_BATCH)},Catalogue item ${row} of the autumn collection,shop|autumn|item ${row}\n`;
    }
    yield text;
  }
}
