import type { Outcome } from './outcome.ts';
import { csvCell, csvCells } from './report/csv-cell.ts';
import type { OutputFormat, Row } from './types.ts';

/** Columns that follow the input's own (DESIGN section 4). */
const RESULT_COLUMNS = ['code', 'short_url', 'status', 'error'] as const;

/** Makes the lines of the results file: the input's own columns, then what became of the row. */
export interface ResultsFormat {
  /** What comes before the first row. */
  header: string;
  line(row: Row, outcome: Outcome): string;
}

export function createResultsFormat(
  format: OutputFormat,
  columns: readonly string[],
): ResultsFormat {
  return format === 'jsonl' ? jsonl(columns) : csv(columns);
}

function csv(columns: readonly string[]): ResultsFormat {
  const { length } = columns;
  return {
    header: `${csvCells([...columns, ...RESULT_COLUMNS], length + RESULT_COLUMNS.length)}\n`,
    line: (row, outcome) => {
      const own = row.asCsv?.(length) ?? csvCells(row.cells, length);
      return outcome.status === 'created'
        ? `${own},${csvCell(outcome.code)},${csvCell(outcome.short_url)},created,\n`
        : `${own},,,${outcome.status},${csvCell(outcome.error)}\n`;
    },
  };
}

/** JSON has no columns of the same name: a key of the input that is one of ours makes way. */
function jsonl(columns: readonly string[]): ResultsFormat {
  const taken = new Set<string>(RESULT_COLUMNS);
  return {
    header: '',
    line: (row, outcome) => {
      const { object, cells } = row;
      const entries = object
        ? Object.entries(object)
        : columns.map((name, index) => [name, cells[index] ?? ''] as const);
      const created = outcome.status === 'created' ? outcome : undefined;
      return `${JSON.stringify({
        ...Object.fromEntries(entries.filter(([name]) => !taken.has(name))),
        code: created?.code ?? null,
        short_url: created?.short_url ?? null,
        status: outcome.status,
        error: outcome.status === 'created' ? null : outcome.error,
      } satisfies Record<(typeof RESULT_COLUMNS)[number], string | null>)}\n`;
    },
  };
}
