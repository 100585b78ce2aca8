import { csvCell } from '../import/report/csv-cell.ts';
import type { Verdict } from './judge.ts';
import type { LinkRow, Table } from './table.ts';

/** Columns that are added to those of the table. */
const COLUMNS = [
  'verified',
  'verified_status',
  'verified_location',
  'verified_target_status',
  'verified_problem',
] as const;

/** The lines of a report. */
interface ReportFormat {
  /** What comes before the first row. */
  header: string;
  line: (row: LinkRow, verdict: Verdict) => string;
}

/** A report as CSV, written as the input is, or as JSON Lines: the table's own columns, then what was found out. */
export function reportFormat({ layout }: Table, isJsonl: boolean): ReportFormat {
  const { columns } = layout.plan;
  const { delimiter, lineEnd, bom } = layout.dialect;
  // A report may be verified again.
  const own = [...columns.keys()].filter((at) => !COLUMNS.some((name) => name === columns[at]));
  if (isJsonl) {
    return {
      header: '',
      line: ({ row: { cells, object } }, verdict) => {
        const entries = own.map((at) => [columns[at] ?? '', cells[at] ?? ''] as const);
        const results = COLUMNS.map((name, index) => [name, resultsOf(verdict)[index] ?? null]);
        const all = { ...(object ?? Object.fromEntries(entries)), ...Object.fromEntries(results) };
        return `${JSON.stringify(all)}\n`;
      },
    };
  }
  const line = (cells: readonly (string | number | undefined)[]) =>
    cells.map((cell) => csvCell(String(cell ?? ''), delimiter)).join(delimiter) + lineEnd;
  return {
    header: (bom ? '\ufeff' : '') + line([...own.map((at) => columns[at]), ...COLUMNS]),
    line: ({ row: { cells } }, verdict) =>
      line([...own.map((at) => cells[at]), ...resultsOf(verdict), ...cells.slice(columns.length)]),
  };
}

function resultsOf({ finding, status, location, targetStatus, problem }: Verdict) {
  return [finding, status, location, targetStatus, problem] as const;
}
