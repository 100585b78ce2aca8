/** What a spreadsheet would run as a formula, in either width; a tab or CR before it is skipped by some. */
const FORMULA_START = /^[=+\-@\t\r\n＝＋－＠]/;

/** Numbers begin like formulas and do no harm. */
const PLAIN_NUMBER = /^[+-]?\d+(?:[.,]\d+)?$/;

const NEEDS_LOOK = /^[=+\-@\t\r\n＝＋－＠]|[",;|\t\r\n]/;
const NEEDS_QUOTES = /["\r\n]/;

/** A cell of a CSV file that we write, with an apostrophe before what a spreadsheet would run (OWASP, "CSV Injection"). */
export function csvCell(text: string, delimiter = ','): string {
  // Nearly every cell needs neither, so one pattern looks for both. A rare delimiter has its own search.
  if (!NEEDS_LOOK.test(text) && !text.includes(delimiter)) return text;
  const guarded = FORMULA_START.test(text) && !PLAIN_NUMBER.test(text) ? `'${text}` : text;
  return quoted(guarded, delimiter);
}

/** A cell, in quotes where it needs them (RFC 4180). */
export function quoted(text: string, delimiter: string): string {
  const needsThem = text.includes(delimiter) || NEEDS_QUOTES.test(text);
  return needsThem ? `"${text.replaceAll('"', '""')}"` : text;
}
export function csvLine(
  cells: readonly unknown[],
  { delimiter = ',', lineEnd = '\n' }: { delimiter?: string; lineEnd?: string } = {},
): string {
  return cells.map((cell) => csvCell(String(cell ?? ''), delimiter)).join(delimiter) + lineEnd;
}

/** The cell as it was before {@link csvCell} put an apostrophe before it. */
export function dropFormulaGuard(text: string): string {
  return text.startsWith("'") && FORMULA_START.test(text.slice(1)) ? text.slice(1) : text;
}
