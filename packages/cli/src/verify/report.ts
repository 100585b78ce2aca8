import { csvCell } from '../import/report/csv-cell.ts';
import type { Verdict } from './judge.ts';
import type { LinkRow, Table } from './table.ts';

/** Columns that are added to those of the table. */
const COLUMNS = {
  verified: 'finding',
  verified_status: 'status',
  verified_location: 'location',
  verified_target_status: 'targetStatus',
  verified_problem: 'problem',
} as const satisfies Record<string, keyof Verdict>;

/** The lines of a report. */
interface ReportFormat {
  /** What comes before the first row. */
  header: string;
  line: (row: LinkRow, verdict: Verdict) => string;
}

/** A report as CSV, written as the input is, or as JSON Lines: the table's own columns, then what was found out. */
export function reportFormat({ layout }: Table, isJsonl: boolean): ReportFormat {
  const { columns } = layout.plan;
  const { delimiter, lineEnd, bom, sep } = layout.dialect;
  // A report may be verified again.
  const own = [...columns.keys()].filter((at) => !Object.hasOwn(COLUMNS, columns[at] ?? ''));
  if (isJsonl) {
    return {
      header: '',
      line: ({ row: { cells, object } }, verdict) => {
        const entries = own.map((at) => [columns[at] ?? '', cells[at] ?? ''] as const);
        const results = Object.entries(COLUMNS).map(([name, key]) => [name, verdict[key] ?? null]);
        const all = { ...(object ?? Object.fromEntries(entries)), ...Object.fromEntries(results) };
        return `${JSON.stringify(all)}\n`;
      },
    };
  }
  const line = (cells: readonly (string | number | undefined)[]) =>
    cells.map((cell) => csvCell(String(cell ?? ''), delimiter)).join(delimiter) + lineEnd;
  return {
    header:
      (bom ? '\ufeff' : '') +
      sep +
      line([...own.map((at) => columns[at]), ...Object.keys(COLUMNS)]),
    line: ({ row: { cells } }, verdict) => {
      const results = Object.values(COLUMNS).map((key) => verdict[key]);
      return line([...own.map((at) => cells[at]), ...results, ...cells.slice(columns.length)]);
    },
  };
}
