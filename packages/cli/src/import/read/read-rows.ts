import type { Row } from '../types.ts';
import { decodeFile } from './decode.ts';
import type { Layout } from './layout.ts';
import type { Input } from './open-input.ts';
import { CsvReader } from './read-csv.ts';
import { JsonlReader, UrlListReader } from './read-lines.ts';
import type { RowReader } from './row.ts';

/**
 * All rows of the input below its header, in arrays of those that one read completes: a promise for every row would
 * cost more than reading it. For JSON Lines, `layout.plan.columns` gains the keys as they are met.
 */
export async function* readRows(
  input: Pick<Input, 'path' | 'name'>,
  layout: Layout,
  onBytes?: (bytes: Uint8Array) => void,
): AsyncGenerator<Row[]> {
  const { reader, rowsToSkip } = createReader(input.name, layout);
  let skip = rowsToSkip;
  const pieces = decodeFile(input.path, {
    name: input.name,
    encoding: layout.plan.encoding,
    onBytes,
  });
  const below = (rows: Row[]): Row[] => {
    const skipped = Math.min(skip, rows.length);
    skip -= skipped;
    return skipped === 0 ? rows : rows.slice(skipped);
  };
  for await (const piece of pieces) {
    const rows = below(reader.push(piece));
    if (rows.length > 0) yield rows;
  }
  const rows = below(reader.end());
  if (rows.length > 0) yield rows;
}

function createReader(name: string, layout: Layout): { reader: RowReader; rowsToSkip: number } {
  const { plan, hasSepLine } = layout;
  if (plan.format === 'urls') return { reader: new UrlListReader(name), rowsToSkip: 0 };
  if (plan.format === 'jsonl') {
    return { reader: new JsonlReader(name, plan.columns), rowsToSkip: 0 };
  }
  return {
    reader: new CsvReader({ name, delimiter: plan.delimiter ?? ',' }),
    rowsToSkip: (plan.hasHeader ? 1 : 0) + (hasSepLine ? 1 : 0),
  };
}
