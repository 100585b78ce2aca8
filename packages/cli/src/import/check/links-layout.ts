import { open } from 'node:fs/promises';
import { constants, gunzipSync } from 'node:zlib';
import { type Input, readRows } from '@shortlink/tables';
import { shown } from '@shortlink/tables/basics';
import { inputError } from '../errors.ts';
import type { Layout } from '../layout.ts';
import { RESULT_COLUMNS, shortUrlColumn } from '../map/result-columns.ts';

/**
 * The column of a table without results that holds short URLs.
 *
 * @throws CliError (exit code 2) where it may be that of another service, and the table will be replaced
 */
export async function otherColumn(
  input: Input,
  layout: Layout,
  origins: readonly string[] | undefined,
): Promise<Layout['resultColumns'] | undefined> {
  for await (const rows of readRows(input, layout)) {
    const found = shortUrlColumn(rows, layout, origins);
    if (found === undefined) return undefined;
    if (origins !== undefined) return { short_url: found.index };
    throw inputError(
      `${input.name} holds short URLs, such as ${shown(found.first)}, in ${JSON.stringify(found.column)}, so their links would be created again`,
      `Name the columns as an import does: ${RESULT_COLUMNS.join(', ')}. If it is no result of an import, move it away.`,
    );
  }
  return undefined;
}

/** Names of workbooks that an import has written, and of those that it keeps. */
const WORKBOOK = /\.results\.xlsx(?:\.old\d*)?$/i;

/** What an import writes, and few others: the names of two columns, or the status behind a short URL. */
const WRITTEN = /\b(?:short_url|made_for)\b|\bhttps?:[^\s",;]+"?[,;\t]"?created\b/;

/** Bytes of a file in which that is looked for. */
const HEAD_BYTES = 65_536;

/** Whether an import seems to have written a file that can't be read, or packed with gzip. In most encodings, the text reads alike. */
export async function seemsWritten(path: string): Promise<boolean> {
  const file = WORKBOOK.test(path) ? undefined : await open(path).catch(() => undefined);
  if (file === undefined) return true;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const head = unpacked(buffer.subarray(0, bytesRead));
    return WRITTEN.test(head.toString('latin1').replaceAll('\0', ''));
  } finally {
    await file.close();
  }
}

/** The beginning of a file, unpacked as far as it goes. */
function unpacked(head: Buffer): Buffer {
  if (head[0] !== 0x1f || head[1] !== 0x8b) return head;
  try {
    return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    return head;
  }
}
