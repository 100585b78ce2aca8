import type { Forecast, ImportEvent, ImportSummary, Plan, RowLists } from '../import/types.ts';
import { TOTALS } from './import-summary.ts';

/**
 * What stderr holds with `--json`: one object a line, and `event` says which it is. Every field is there, with `null` where it says nothing,
 * unless its comment says otherwise. Fields and events may be added.
 */
export type JsonEvent =
  /** Something worth knowing, in words. */
  | { event: 'note' | 'warning'; message: string }
  /** A request, a response or a retry, with `--verbose`. The fields depend on the message. */
  | { event: 'log'; level: string; message: string; fields: object }
  | ProgressEvent
  /** What an import finds out about one of its files before it sends anything. */
  | NonNullable<ReturnType<typeof importEvent>>
  /** The summary of an import, where stdout holds the results. */
  | { event: 'summary' }
  /** `hint`, `status` and `request_id` are left out where there is none. */
  | { event: 'error'; version: 1; error: ErrorFields };

/** Printed every few seconds while something happens. */
export interface ProgressEvent {
  event: 'progress';
  task: 'check' | 'import' | 'job' | 'verify';
  /** The input file, or the id of the job. */
  name: string;
  /** Rows or links that are done; of `total`, where that is known. */
  done: number;
  total: number | null;
  /** Until the next request, for a rate limit or after an error. */
  wait_ms: number;
  /** An estimate. */
  left_ms: number | null;
}

interface ErrorFields {
  code: string;
  message: string;
  hint?: string | undefined;
  exit_code: number;
  status?: number | undefined;
  request_id?: string | undefined;
}

/** The JSON form of an event of an import; undefined for those that only move the progress. */
export function importEvent(event: ImportEvent, file: string) {
  switch (event.type) {
    // An input file was read and checked.
    case 'validated': {
      const { plan, rows, rejected, firstRejects: first_rejects } = event;
      const { format, encoding, delimiter = null, notes } = plan;
      const fields = { format, encoding, delimiter, mapping: mappingOf(plan), notes };
      return { event: 'checked' as const, file, ...fields, rows, rejected, first_rejects };
    }
    // How its rows compare with the links that exist. The counts are of rows; `gone` counts links that no row asks for any more.
    case 'compared': {
      const { new: unsent, existing, changed, changedLines: changed_lines, gone } = event;
      const fields = { new: unsent, existing, changed, changed_lines, gone };
      return { event: 'compared' as const, file, ...fields };
    }
    // The forecast: how many requests the missing links need, and how long they take.
    case 'forecast':
      return { event: 'forecast' as const, file, ...forecastFields(event.forecast) };
    default:
      return undefined;
  }
}

/** Which column fills which field: its name, or its number from 1 where no header names it. */
function mappingOf({ mapping, columns, hasHeader }: Plan): Record<string, string | number> {
  const pairs = Object.entries(mapping).map(([field, index]) => {
    return [field, hasHeader ? (columns[index] ?? '') : index + 1] as const;
  });
  return Object.fromEntries(pairs);
}

function forecastFields(forecast: Forecast) {
  const { links, left, batchSize, requests, room, durationMs, plan, requestsPerMinute } = forecast;
  const { waitMs } = forecast;
  return {
    links,
    left,
    batch_size: batchSize,
    requests,
    room: room ?? null,
    duration_ms: durationMs === undefined ? null : Math.round(durationMs),
    wait_ms: waitMs === undefined ? null : Math.round(waitMs),
    plan: plan ?? null,
    requests_per_minute: requestsPerMinute ?? null,
  };
}

/** How the import of one file ended, as far as its JSON form needs it. */
interface ImportOutcome {
  summary: ImportSummary;
  exitCode: number;
  warnings: readonly string[];
  stopped: { reason: string; message: string; hint: string | undefined } | undefined;
}

/** 2: `created` counts the links that this run created, and `existing` those of earlier ones. */
const IMPORT_JSON_VERSION = 2;

/**
 * The object of `import --json` and, with lists of rows, of `--summary`, documented in `packages/docs/importing/ci.md`, "The summary". Fields may be added; a change of meaning or name is a new
 * `version`.
 */
export function importJson(
  outcomes: readonly ImportOutcome[],
  exitCode: number,
  notImported: readonly string[],
  listsRows: boolean,
): object {
  const sum = (name: (typeof TOTALS)[number] | 'elapsedMs') =>
    outcomes.reduce((total, { summary }) => total + summary[name], 0);
  return {
    version: IMPORT_JSON_VERSION,
    command: 'import',
    exit_code: exitCode,
    ...Object.fromEntries(TOTALS.map((name) => [name, sum(name)])),
    new: sum('created') + sum('failed') + sum('unsent'),
    elapsed_ms: Math.round(sum('elapsedMs')),
    ...(listsRows && rowLists(outcomes)),
    files: outcomes.map(fileJson),
    not_imported: notImported,
  };
}

/** Rows of all files that are new, changed or bad. */
function rowLists(outcomes: readonly ImportOutcome[]) {
  const list = (name: keyof RowLists) =>
    outcomes.flatMap(({ summary: { file, lists } }) =>
      (lists?.[name] ?? []).map((row) => ({ file, ...row })),
    );
  return { problems: list('problems'), changed_rows: list('changed'), new_rows: list('new') };
}

function fileJson({ summary, exitCode, stopped, warnings }: ImportOutcome): object {
  return {
    file: summary.file,
    dry_run: summary.dryRun,
    exit_code: exitCode,
    ...Object.fromEntries(TOTALS.map((name) => [name, summary[name]])),
    new: summary.created + summary.failed + summary.unsent,
    elapsed_ms: Math.round(summary.elapsedMs),
    forecast: summary.forecast === undefined ? null : forecastFields(summary.forecast),
    output: summary.output ?? null,
    rejects: summary.rejectsFile ?? null,
    journal: summary.journal ?? null,
    warnings,
    stopped:
      stopped === undefined
        ? null
        : { reason: stopped.reason, message: stopped.message, hint: stopped.hint ?? null },
  };
}
