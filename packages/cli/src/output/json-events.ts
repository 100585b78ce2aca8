import type { Plan } from '@shortlink/tables/basics';
import type { ExitCode } from '../cli-error.ts';
import type { ImportEvent, ImportSummary } from '../import/types.ts';

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
  /** What an import finds out about one of its files before it sends anything: see {@link importEvent}. */
  | { event: 'checked' | 'compared' | 'forecast'; file: string }
  /** The summary of an import or a verification, where stdout holds its results. */
  | { event: 'summary' }
  /** `hint`, `status` and `request_id` are left out where there is none. */
  | { event: 'error'; version: 1; error: object };

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

/** Fields as JSON has them: `changedLines` is `changed_lines`, what is undefined is `null`, and times are whole milliseconds. */
function fieldsOf(values: object): object {
  const entries = Object.entries(values).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    typeof value === 'number' ? Math.round(value) : (value ?? null),
  ]);
  return Object.fromEntries(entries);
}

/** The JSON form of an event of an import; undefined for those that only move the progress. */
export function importEvent(event: ImportEvent, file: string): JsonEvent | undefined {
  switch (event.type) {
    // An input file was read and checked.
    case 'validated': {
      const { plan, rows, rejected, firstRejects } = event;
      const { format, encoding, delimiter, notes } = plan;
      const found = { format, encoding, delimiter, mapping: mappingOf(plan), notes };
      return { event: 'checked', file, ...fieldsOf({ ...found, rows, rejected, firstRejects }) };
    }
    // How its rows compare with the links that exist. The counts are of rows; `gone` counts links that no row asks for any more.
    case 'compared': {
      const { type, rows, ...found } = event;
      return { event: 'compared', file, ...fieldsOf(found) };
    }
    // How many requests the missing links need, and how long they take.
    case 'forecast':
      return { event: 'forecast', file, ...forecastFields(event.forecast) };
    default:
      return undefined;
  }
}

/** Which column fills which field: its name, or its number from 1 where no header names it. */
export function mappingOf({ mapping, columns, hasHeader }: Plan): Record<string, string | number> {
  const pairs = Object.entries(mapping).map(([field, index]) => {
    return [field, hasHeader ? (columns[index] ?? '') : index + 1] as const;
  });
  return Object.fromEntries(pairs);
}

function forecastFields({ isShort, ...forecast }: NonNullable<ImportSummary['forecast']>): object {
  return fieldsOf({ waitMs: undefined, ...forecast });
}

/** How the import of one file ended. */
export interface ImportOutcome {
  summary: ImportSummary;
  exitCode: ExitCode;
  /** Every warning that was printed. */
  warnings: readonly string[];
  /** Why not all of its rows were sent; undefined when they were. `reason` is a `StopReason`, or the code of the error that refused the file. */
  stopped: { reason: string; message: string; hint: string | undefined } | undefined;
}

/** Counts that add up over files. */
export const TOTALS = [
  ...(['rows', 'created', 'existing', 'changed', 'gone', 'rejected', 'failed', 'unknown'] as const),
  ...(['unsent', 'batches', 'requests'] as const),
] satisfies (keyof ImportSummary)[];

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
  const list = (name: 'problems' | 'changed' | 'new') =>
    outcomes.flatMap(({ summary: { file, lists } }) =>
      (lists?.[name] ?? []).map((row) => ({ file, ...row })),
    );
  return {
    ...{ version: IMPORT_JSON_VERSION, command: 'import', exit_code: exitCode },
    ...countsOf(outcomes),
    ...(listsRows && {
      problems: list('problems'),
      changed_rows: list('changed'),
      new_rows: list('new'),
    }),
    files: outcomes.map((outcome) => {
      const { summary, exitCode, stopped, warnings } = outcome;
      const { file, dryRun, forecast, output, rejectsFile: rejects, journal } = summary;
      return {
        ...fieldsOf({ file, dryRun, exitCode }),
        ...countsOf([outcome]),
        forecast: forecast === undefined ? null : forecastFields(forecast),
        ...fieldsOf({ output, rejects, journal, warnings }),
        stopped: stopped === undefined ? null : fieldsOf(stopped),
      };
    }),
    not_imported: notImported,
  };
}

function countsOf(outcomes: readonly ImportOutcome[]): object {
  const sum = (name: (typeof TOTALS)[number] | 'new' | 'elapsedMs') =>
    outcomes.reduce((total, { summary }) => total + summary[name], 0);
  return {
    ...Object.fromEntries(TOTALS.map((name) => [name, sum(name)])),
    ...fieldsOf({ new: sum('new'), elapsedMs: sum('elapsedMs') }),
  };
}
