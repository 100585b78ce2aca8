import type { Machine } from './machine.ts';
import type { Check, Row, Section } from './section.ts';
import type { Figure } from './stats.ts';

/** A section and the load average before it began. */
export interface MeasuredSection extends Section {
  name: string;
  loadAverage: number;
  seconds: number;
}

/** The heading of a run, in Markdown. */
export function formatMachine(machine: Machine): string {
  const { date, node, platform, cpu, cores } = machine;
  return `Measured ${date} on ${cores} cores (${cpu}), ${platform}, Node ${node}.\n`;
}

/** A section as a Markdown table, ready for a README. */
export function formatSection(section: MeasuredSection): string {
  const { title, about, rows, checks = [], loadAverage, seconds } = section;
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row.figures)))];
  const table = [['', ...columns], ...rows.map((row) => [row.name, ...cells(row, columns)])];
  return [
    `### ${title}`,
    '',
    `${about} (load average before it ${loadAverage.toFixed(1)}; ${seconds.toFixed(0)} s)`,
    '',
    formatTable(table),
    ...(checks.length > 0 ? ['', ...checks.map(formatCheck)] : []),
    '',
  ].join('\n');
}

function cells(row: Row, columns: readonly string[]): string[] {
  return columns.map((column) => {
    const figure = row.figures[column];
    return figure === undefined || Number.isNaN(figure.median) ? '' : formatFigure(figure);
  });
}

function formatFigure({ median, min, max }: Figure): string {
  if (min === max) return formatNumber(median);
  return `${formatNumber(median)} (${formatNumber(min)} to ${formatNumber(max)})`;
}

/** Three significant digits: the measurements are not more exact. */
function formatNumber(value: number): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)));
  const rounded = Number(value.toPrecision(3));
  return rounded.toLocaleString('en-US', {
    minimumFractionDigits: Math.min(digits, 2),
    maximumFractionDigits: Math.min(digits, 4),
  });
}

function formatTable([header = [], ...body]: string[][]): string {
  const widths = header.map((_, column) =>
    Math.max(3, ...[header, ...body].map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => pad(row[column] ?? '', width, column)).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(header), line(rule), ...body.map(line)].join('\n');
}

function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width);
}

function formatCheck(check: Check): string {
  const { name, measured, wanted } = check;
  const words = 'atLeast' in wanted ? `at least ${wanted.atLeast}` : `at most ${wanted.atMost}`;
  return `- ${holds(check) ? 'holds' : 'MISSED'}: ${name}: ${formatNumber(measured)}, wanted ${words}`;
}

function holds({ measured, wanted }: Check): boolean {
  return 'atLeast' in wanted ? measured >= wanted.atLeast : measured <= wanted.atMost;
}
