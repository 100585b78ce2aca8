/** One line of a table or one record, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Characters that a terminal obeys instead of showing them: C0 and C1 controls, DEL, line and paragraph separators, and those
 * that change the direction of text (Unicode Technical Report 36, "Bidirectional Text Spoofing").
 */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** Texts come from databases, requests and command lines. In a terminal, unsafe characters show as `\u` and their number. */
export function terminalSafe(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** The same for text of several lines that was made here. */
export function terminalSafeLines(text: string): string {
  return text.split('\n').map(terminalSafe).join('\n');
}

/** Rows as JSON on one line, or as columns for a person. */
export function formatRows(
  { json, rows }: { json: readonly object[]; rows: readonly Row[] },
  asJson: boolean,
): string[] {
  if (asJson) return [safeJson(json)];
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
export function formatRecord(
  { json, record }: { json: object; record?: Row | undefined },
  asJson: boolean,
): string[] {
  if (asJson) return [safeJson(json)];
  const fields = Object.entries(record ?? json).filter(([, value]) => value !== undefined);
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`);
}

/** JSON may hold any character as an escape, so the data stays the same. */
function safeJson(value: object): string {
  return terminalSafe(JSON.stringify(value));
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '-';
  if (Array.isArray(value)) return value.map(cell).join(', ');
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([name, inner]) => `${name}=${inner === null ? 'unlimited' : cell(inner)}`)
      .join(' ');
  }
  return terminalSafe(String(value));
}
