import { availableParallelism, cpus, loadavg } from 'node:os';
import type { Figure } from './rounds.ts';
import type { Check, Row, Section } from './section.ts';

/** The machine that the figures were measured on, and what else it did. */
export interface Machine {
  /** Such as `2026-11-22`. */
  date: string;
  node: string;
  platform: string;
  cpu: string;
  cores: number;
  /** Processes that wanted to run in the minute before, on average. Above the number of cores they wait for one another. */
  loadAverage: number;
}

export function describeMachine(): Machine {
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    loadAverage: loadavg()[0] ?? Number.NaN,
  };
}

/** A section, and where and when it was measured. */
export interface MeasuredSection extends Section {
  name: string;
  machine: Machine;
}

/** When and where something was measured, as one sentence. */
export function formatMachine(machine: Machine): string {
  const { date, node, platform, cpu, cores, loadAverage } = machine;
  return `Measured ${date} with Node ${node} on ${cores} cores (${cpu}, ${platform}), whose load average was ${loadAverage.toFixed(1)} before.`;
}

/** A section as a Markdown table, ready for a README. */
export function formatSection(section: MeasuredSection): string {
  const { title, about, rows, checks = [], machine } = section;
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row.figures)))];
  const table = [['', ...columns], ...rows.map((row) => [row.name, ...cells(row, columns)])];
  return [
    `#### ${title}`,
    '',
    `${about} ${formatMachine(machine)}`,
    '',
    formatTable(table),
    ...(checks.length > 0 ? ['', ...checks.map(formatCheck)] : []),
    '',
  ].join('\n');
}

function cells(row: Row, columns: readonly string[]): string[] {
  return columns.map((column) => {
    const figure = row.figures[column];
    return figure === undefined || !Number.isFinite(figure.median) ? '' : formatFigure(figure);
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

/** Processor time of one request or link, in microseconds. */
export interface Cpu {
  /** Of all server processes together. */
  servers: number;
  database: number;
}

/** What the end-to-end scripts `million` and `hot-key` measured on three instances that share a PostgreSQL. */
export interface Sizing {
  million: {
    machine: Machine;
    rows: number;
    /** How long the import of all rows took. */
    seconds: number;
    /** Bytes of a link in the table and in its indexes. */
    bytes: { table: number; index: number };
    link: Cpu;
    create: Cpu;
    cachedRedirect: Cpu;
    otherRedirect: Cpu;
  };
  /** Rates a second, of one key. */
  hotKey: {
    machine: Machine;
    counted: number;
    /** The same with a plain counter row that each request updates. */
    countedByRow: number;
    creates: number;
    clickedLinks: number;
  };
}

/** Two significant digits: rates of another machine differ by more. */
function about(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en-US');
}

/** In the middle of a sentence. */
const measured = (machine: Machine) => formatMachine(machine).replace(/^M/, 'm');

/** The table of what was measured. */
export function formatSizing({ million, hotKey }: Sizing): string {
  const { rows, seconds, bytes } = million;
  const cpu = ({ servers, database }: Cpu) =>
    `${about(servers)} µs in the servers, ${about(database)} µs in PostgreSQL`;
  return `- The import, and what a request costs: ${measured(million.machine)}
- The rates of one key: ${measured(hotKey.machine)}

| what | measured |
| --- | --- |
| a link (target of 60 characters, title of 14) | ${bytes.table} bytes, and ${bytes.index} bytes of index |
| ${rows.toLocaleString('en-US')} links imported by the CLI | ${about(seconds)} s, ${about(rows / seconds)} a second |
| CPU of a link in a job | ${cpu(million.link)} |
| CPU of a single create | ${cpu(million.create)} |
| CPU of a redirect from the cache | ${cpu(million.cachedRedirect)} |
| CPU of a redirect that is looked up | ${cpu(million.otherRedirect)} |
| requests of one key that are counted | ${about(hotKey.counted)} a second; a plain counter row under the same load ${about(hotKey.countedByRow)} |
| single creates of one key | ${about(hotKey.creates)} a second |
| clicked links that are flushed | ${about(hotKey.clickedLinks)} a second |`;
}
