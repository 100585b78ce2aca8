/** Rows as JSON on one line, or as columns for a person. */
export function formatRows(rows: readonly Record<string, unknown>[], json: boolean): string[] {
  if (json) return [JSON.stringify(rows)];
  const [first] = rows;
  if (first === undefined) return ['(none)'];
  const columns = Object.keys(first);
  const cells = [columns, ...rows.map((row) => columns.map((column) => cell(row[column])))];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)));
  return cells.map((line) =>
    line
      .map((text, i) => text.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

/** One object as JSON on one line, or one field per line for a person. */
export function formatRecord(record: Readonly<Record<string, unknown>>, json: boolean): string[] {
  if (json) return [JSON.stringify(record)];
  const width = Math.max(...Object.keys(record).map((name) => name.length));
  return Object.entries(record).map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`);
}

/** Text from the database may hold anything; a terminal must not obey it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the point
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/g;

function cell(value: unknown): string {
  if (value === null) return 'unlimited';
  if (Array.isArray(value)) return value.map(cell).join(', ');
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([name, inner]) => `${name}=${cell(inner)}`)
      .join(' ');
  }
  return String(value).replace(CONTROL_CHARACTERS, '');
}
