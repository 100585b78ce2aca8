import { csvCell, csvCells } from './csv-cell.ts';
import type { Outcome } from './outcome.ts';
import type { OutputFormat, Row } from './types.ts';

/** Columns that follow the input's own (DESIGN section 4). */
const RESULT_COLUMNS = ['code', 'short_url', 'status', 'error'] as const;

/** Makes the lines of the results file: the input's own columns, then what became of the row. */
export interface ResultsFormat {
  /** What comes before the first row. */
  header: string;
  /** The row's own part of its line: all that has to be kept of a row until its fate is known. */
  own(row: Row): string;
  /** The whole line, from the row's own part. */
  line(own: string, outcome: Outcome): string;
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
    own: (row) => csvCells(row.cells, length),
    line: (own, outcome) =>
      outcome.status === 'created'
        ? `${own},${csvCell(outcome.code)},${csvCell(outcome.short_url)},created,\n`
        : `${own},,,${outcome.status},${csvCell(outcome.error)}\n`,
  };
}

/** JSON has no columns of the same name: a key of the input that is one of ours makes way. */
function jsonl(columns: readonly string[]): ResultsFormat {
  const taken = new Set<string>(RESULT_COLUMNS);
  return {
    header: '',
    own: (row) => {
      const entries = row.object
        ? Object.entries(row.object)
        : columns.map((name, index) => [name, row.cells[index] ?? ''] as const);
      return JSON.stringify(Object.fromEntries(entries.filter(([name]) => !taken.has(name))));
    },
    line: (own, outcome) => {
      const created = outcome.status === 'created' ? outcome : undefined;
      const result = {
        code: created?.code ?? null,
        short_url: created?.short_url ?? null,
        status: outcome.status,
        error: outcome.status === 'created' ? null : outcome.error,
      } satisfies Record<(typeof RESULT_COLUMNS)[number], string | null>;
      const separator = own === '{}' ? '' : ',';
      return `${own.slice(0, -1)}${separator}${JSON.stringify(result).slice(1)}\n`;
    },
  };
}
