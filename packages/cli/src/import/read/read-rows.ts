import type { Plan, Row } from '../types.ts';
import { decodeFile } from './decode.ts';
import type { Layout } from './layout.ts';
import type { Input } from './open-input.ts';
import { CsvReader } from './read-csv.ts';
import { JsonlReader, SheetReader, UrlListReader } from './read-lines.ts';
import type { RowReader } from './row.ts';

/**
 * All rows of the input below its header, in arrays of those that one read completes: a promise for every row would
 * cost more than reading it. For JSON Lines, `layout.plan.columns` gains the keys as they are met.
 *
 * @param onBytes - called with the bytes of each read of the file, as they are on the disk
 */
export async function* readRows(
  input: Pick<Input, 'path' | 'name' | 'packing'>,
  layout: Layout,
  onBytes?: (bytes: Uint8Array) => void,
): AsyncGenerator<Row[]> {
  const { plan, preamble } = layout;
  const reader = createReader(input.name, plan, layout.firstLine);
  let skip = headerRows(plan);
  let skipCharacters = preamble.length;
  const below = (rows: Row[]): Row[] => {
    const skipped = Math.min(skip, rows.length);
    skip -= skipped;
    return skipped === 0 ? rows : rows.slice(skipped);
  };
  const pieces = decodeFile(layout.sheetRows ?? input.path, {
    name: input.name,
    encoding: plan.encoding,
    packing: input.packing === 'gzip' ? 'gzip' : undefined,
    onBytes,
  });
  for await (const piece of pieces) {
    const text = skipCharacters === 0 ? piece : piece.slice(skipCharacters);
    skipCharacters -= piece.length - text.length;
    const rows = below(reader.push(text));
    if (rows.length > 0) yield rows;
  }
  const rows = below(reader.end());
  if (rows.length > 0) yield rows;
}

/** Rows that the reader returns before the first one of data. The keys of JSON Lines are no row of their own. */
export function headerRows({ format, hasHeader }: Pick<Plan, 'format' | 'hasHeader'>): number {
  return hasHeader && format !== 'jsonl' ? 1 : 0;
}

/** @param firstLine - number of the line that the text begins with */
export function createReader(
  name: string,
  plan: Pick<Plan, 'format' | 'delimiter' | 'columns'>,
  firstLine: number,
): RowReader {
  switch (plan.format) {
    case 'urls':
      return new UrlListReader(name, firstLine);
    case 'jsonl':
      return new JsonlReader(name, plan.columns, firstLine);
    case 'xlsx':
      return new SheetReader(name);
    default:
      return new CsvReader({ name, delimiter: plan.delimiter ?? ',', firstLine });
  }
}
