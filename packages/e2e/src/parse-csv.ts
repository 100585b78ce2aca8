/**
 * A second, independent CSV reader (RFC 4180, whole text in memory) that the tests compare the CLI's output with.
 */
export function parseCsv(text: string, delimiter: ',' | ';' = ','): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  const cell = new RegExp(
    `("(?:[^"]|"")*"|[^${delimiter}\\r\\n]*)(${delimiter}|\\r\\n|\\n|\\r|$)`,
    'y',
  );
  const source = text.startsWith('\ufeff') ? text.slice(1) : text;
  while (cell.lastIndex < source.length) {
    const at = cell.lastIndex;
    const found = cell.exec(source);
    if (!found) throw new Error(`no CSV at character ${at}`);
    const [, raw = '', end] = found;
    row.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw);
    if (end !== delimiter) {
      rows.push(row);
      row = [];
    }
  }
  return rows;
}
