import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { RuntimeRun } from './run-runtime.ts';

const PAGE = fileURLToPath(new URL('../../docs/sdk/runtimes.md', import.meta.url));
const START = '<!-- runtimes:start -->';
const END = '<!-- runtimes:end -->';

/** The cells of one line of the page's table. */
export type Row = readonly string[];

const HEAD: Row = [
  'runtime',
  'version',
  'checks passed',
  'tells a refused connection',
  'sends a lost POST once',
  'runs `startTestServer`',
];
const VERSION_COLUMN = 1;

/** The row of the table for one run. */
export function toRow(run: RuntimeRun): Row {
  const passed = run.results.filter((result) => result.failure === undefined).length;
  return [
    run.name,
    run.version,
    `${passed} of ${run.results.length}`,
    run.tellsNotSent ? 'yes' : 'no',
    run.repeatsLostPosts ? 'no' : 'yes',
    run.runsTestServer ? 'yes' : 'no',
  ];
}

/** A row without its version, so that a newer patch release of a runtime doesn't fail the test. */
export function withoutVersion(row: Row): Row {
  return row.toSpliced(VERSION_COLUMN, 1);
}

/** The rows that are in the page now. */
export async function readRows(): Promise<Row[]> {
  const { inside } = split(await readFile(PAGE, 'utf8'));
  const lines = inside.split('\n').filter((line) => line.startsWith('|'));
  const headAndRule = 2;
  return lines.slice(headAndRule).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** Replaces the rows of the page. */
export async function writeRows(rows: readonly Row[]): Promise<void> {
  const { before, after } = split(await readFile(PAGE, 'utf8'));
  await writeFile(PAGE, `${before}\n\n${format([HEAD, ...rows])}\n\n${after}`);
}

/** Columns as wide as their widest cell, as Markdown formatters leave them. */
function format([head = [], ...rows]: readonly Row[]): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: Row) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = widths.map((width) => '-'.repeat(width));
  return [head, rule, ...rows].map(line).join('\n');
}

function split(text: string): { before: string; inside: string; after: string } {
  const [before, rest] = text.split(START);
  const [inside, after] = rest?.split(END) ?? [];
  if (before === undefined || inside === undefined || after === undefined) {
    throw new Error(`${PAGE} has no section between ${START} and ${END}`);
  }
  return { before: before + START, inside, after: END + after };
}
