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

/** How the import of one file ended, as far as its JSON form needs it. */
interface ImportOutcome {
  summary: ImportSummary;
  exitCode: number;
  stopped: { reason: string; message: string; hint: string | undefined } | undefined;
}

/** 2: `created` counts the links that this run created, and `existing` those of earlier ones. */
const IMPORT_JSON_VERSION = 2;

/** Counts that add up over files. */
const TOTALS = [
  'rows',
  'created',
  'existing',
  'changed',
  'gone',
  'rejected',
  'failed',
  'unknown',
  'unsent',
  'batches',
  'requests',
] as const satisfies (keyof ImportSummary)[];

/**
 * The object of `import --json`, documented in `packages/docs/importing/ci.md`, "The summary". Fields may be added; a change of meaning or name is a new
 * `version`.
 */
export function importJson(outcomes: readonly ImportOutcome[], exitCode: number): object {
  const sum = (name: (typeof TOTALS)[number] | 'elapsedMs') =>
    outcomes.reduce((total, { summary }) => total + summary[name], 0);
  return {
    version: IMPORT_JSON_VERSION,
    command: 'import',
    exit_code: exitCode,
    ...Object.fromEntries(TOTALS.map((name) => [name, sum(name)])),
    elapsed_ms: Math.round(sum('elapsedMs')),
    files: outcomes.map(fileJson),
  };
}

function fileJson({ summary, exitCode, stopped }: ImportOutcome): object {
  return {
    file: summary.file,
    dry_run: summary.dryRun,
    exit_code: exitCode,
    ...Object.fromEntries(TOTALS.map((name) => [name, summary[name]])),
    elapsed_ms: Math.round(summary.elapsedMs),
    forecast: forecastJson(summary.forecast),
    output: summary.output ?? null,
    rejects: summary.rejectsFile ?? null,
    journal: summary.journal ?? null,
    stopped:
      stopped === undefined
        ? null
        : { reason: stopped.reason, message: stopped.message, hint: stopped.hint ?? null },
  };
}

function forecastJson(forecast: ImportSummary['forecast']): object | null {
  if (forecast === undefined) return null;
  const { links, left, batchSize, requests, room, durationMs } = forecast;
  return {
    links,
    left,
    batch_size: batchSize,
    requests,
    room: room ?? null,
    duration_ms: durationMs === undefined ? null : Math.round(durationMs),
  };
}
