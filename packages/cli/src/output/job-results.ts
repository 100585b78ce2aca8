import type { BatchResultItem } from '@shortlink/sdk';
import { csvCells } from '../import/report/csv-cell.ts';

const COLUMNS = ['target_url', 'code', 'short_url', 'error'] as const;

/** Results of a job as the content of a file. */
export function renderJobResults(
  results: readonly BatchResultItem[],
  format: 'csv' | 'json',
): string {
  if (format === 'json') {
    return `${JSON.stringify(results, null, 2)}\n`;
  }
  const rows = results.map((item) => COLUMNS.map((column) => item[column] ?? ''));
  return [COLUMNS, ...rows].map((cells) => `${csvCells(cells, COLUMNS.length)}\n`).join('');
}
