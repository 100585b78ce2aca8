import type { ImportSummary } from '../import/types.ts';
import { formatCount, formatDuration, formatRate } from './format.ts';
import type { Paint, Style } from './style.ts';
import { type Cell, renderTable } from './table.ts';

/** The table at the end of an import: of this run's batches, requests, time and rate, and of all rows. */
export function importTable(summary: ImportSummary, style: Style): Promise<string> {
  const { rows, created, existing, changed, gone, rejected, failed, unknown, unsent } = summary;
  const { batches, requests, answered, elapsedMs, dryRun } = summary;
  const count = (name: string, value: number, paint: Paint): Cell[] => [
    value > 0 ? { text: name, paint } : name,
    formatCount(value),
  ];
  const before = [
    ...(existing > 0 ? [['existing', formatCount(existing)]] : []),
    ...(changed > 0 ? [count('changed', changed, style.yellow)] : []),
    ...(gone > 0 ? [['gone', formatCount(gone)]] : []),
  ];
  const checked = [
    ['rows', formatCount(rows)],
    count('valid', rows - rejected, style.green),
    count('rejected', rejected, style.red),
    ['new', formatCount(unsent)],
    ...before,
  ];
  const sent = [
    ['rows', formatCount(rows)],
    count('created', created, style.green),
    ...before,
    count('rejected', rejected, style.red),
    count('failed', failed, style.red),
    count('unknown', unknown, style.yellow),
    ...(unsent > 0 ? [count('unsent', unsent, style.yellow)] : []),
    ['batches', formatCount(batches)],
    ['requests', formatCount(requests)],
  ];
  // What earlier runs had done says nothing about the speed of this one.
  const perSecond = ((dryRun ? rows : answered) * 1000) / elapsedMs;
  const lines = [
    ...(dryRun ? checked : sent),
    ['time', formatDuration(elapsedMs)],
    ...(perSecond > 0 && elapsedMs > 0 ? [['rate', `${formatRate(perSecond)} rows/s`]] : []),
  ];
  return renderTable({
    head: [summary.dryRun ? `${summary.file} (dry run)` : summary.file, ''],
    rows: lines,
    right: [1],
    style,
  });
}
