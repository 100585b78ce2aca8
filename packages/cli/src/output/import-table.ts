import type { ImportSummary } from '../import/types.ts';
import { formatCount, formatDuration, formatRate } from './format.ts';
import type { Paint, Style } from './style.ts';
import { type Cell, renderTable } from './table.ts';

/** The table at the end of an import. Unsent rows are named only where there are any. */
export function importTable(summary: ImportSummary, style: Style): Promise<string> {
  const { rows, created, rejected, failed, unknown, unsent, batches, requests, elapsedMs } =
    summary;
  const perSecond = elapsedMs > 0 ? (rows * 1000) / elapsedMs : 0;
  const count = (name: string, value: number, paint: Paint): Cell[] => [
    value > 0 ? { text: name, paint } : name,
    formatCount(value),
  ];
  const lines = [
    ['rows', formatCount(rows)],
    count('created', created, style.green),
    count('rejected', rejected, style.red),
    count('failed', failed, style.red),
    count('unknown', unknown, style.yellow),
    ...(unsent > 0 ? [count('unsent', unsent, style.yellow)] : []),
    ['batches', formatCount(batches)],
    ['requests', formatCount(requests)],
    ['time', formatDuration(elapsedMs)],
    ['rate', `${formatRate(perSecond)} rows/s`],
  ];
  return renderTable({
    head: [summary.dryRun ? `${summary.file} (dry run)` : summary.file, ''],
    rows: lines,
    right: [1],
    style,
  });
}
