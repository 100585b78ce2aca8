import type { Plan } from '@shortlink/tables/basics';
import type { ExitCode } from '../cli-error.ts';
import type { ImportEvent, ImportSummary } from '../import/types.ts';
import type { ErrorReport } from './printer.ts';

/**
 * What stderr holds with `--json`: one object a line. Every field is there, with `null` where it says nothing, unless its comment says
 * otherwise. Fields and events may be added.
 */
export type JsonEvent =
  | { event: 'note' | 'warning'; message: string }
  /** With `--verbose`. The fields depend on the message. */
  | { event: 'log'; level: string; message: string; fields: object }
  | ProgressEvent
  /** See {@link importEvent}. */
  | { event: 'checked' | 'compared' | 'forecast'; file: string }
  /** Where stdout holds the results. */
  | { event: 'summary' }
  /** `hint`, `status` and `request_id` are left out where there is none. */
  | { event: 'error'; version: 1; error: object };

/** Printed every few seconds while something happens. */
export interface ProgressEvent {
  event: 'progress';
  task: 'check' | 'import' | 'job' | 'verify';
  /** An input file, or the id of a job. */
  name: string;
  /** Rows or links. */
  done: number;
  total: number | null;
  /** How long it is until the next request. */
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

/** Undefined for events that only move the progress. */
export function importEvent(event: ImportEvent, file: string): JsonEvent | undefined {
  switch (event.type) {
    case 'validated': {
      const { plan, rows, rejected, firstRejects } = event;
      const { format, encoding, delimiter, notes } = plan;
      const found = { format, encoding, delimiter, mapping: mappingOf(plan), notes };
      return { event: 'checked', file, ...fieldsOf({ ...found, rows, rejected, firstRejects }) };
    }
    // The counts are of rows; `gone` counts links that no row asks for any more.
    case 'compared': {
      const { type, ...found } = event;
      return { event: 'compared', file, ...fieldsOf(found) };
    }
    case 'forecast':
      return { event: 'forecast', file, ...forecastFields(event.forecast) };
    default:
      return undefined;
  }
}

/** The name of the column that fills each field, or its number from 1 where no header names it. */
export function mappingOf({ mapping, columns, hasHeader }: Plan): Record<string, string | number> {
  const pairs = Object.entries(mapping).map(([field, index]) => {
    return [field, hasHeader ? (columns[index] ?? '') : index + 1] as const;
  });
  return Object.fromEntries(pairs);
}

function forecastFields({ isShort, ...forecast }: NonNullable<ImportSummary['forecast']>): object {
  return fieldsOf({ waitMs: undefined, ...forecast });
}

export interface ImportOutcome {
  summary: ImportSummary;
  exitCode: ExitCode;
  warnings: readonly string[];
  /** Why not all rows were sent. `reason` is a `StopReason`, or the code of the error that refused the file. */
  stopped: (Omit<ErrorReport, 'code' | 'exitCode'> & { reason: string }) | undefined;
}

export const TOTALS = [
  ...(['rows', 'created', 'existing', 'changed', 'gone', 'rejected', 'failed', 'unknown'] as const),
  ...(['unsent', 'batches', 'requests'] as const),
] satisfies (keyof ImportSummary)[];

/** 2: `created` counts the links that this run created, and `existing` those of earlier ones. */
const IMPORT_JSON_VERSION = 2;

/**
 * The object of `import --json` and, with lists of rows, of `--summary`, documented in `packages/docs/importing/ci.md`, "The summary".
 * A change of meaning or name is a new `version`.
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
