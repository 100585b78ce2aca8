import {
  AuthenticationError,
  PermissionError,
  PlanLimitError,
  RateLimitError,
} from '@shortlink/sdk';
import type { Sent } from '../send/send-new-rows.ts';
import type { ImportSettings, ImportSummary, StopReason } from '../types.ts';

/** The summary of an import that has done nothing yet. */
export function emptySummary(settings: Pick<ImportSettings, 'file' | 'dryRun'>): ImportSummary {
  return {
    file: settings.file,
    dryRun: settings.dryRun,
    rows: 0,
    created: 0,
    existing: 0,
    changed: 0,
    gone: 0,
    rejected: 0,
    failed: 0,
    unknown: 0,
    unsent: 0,
    forecast: undefined,
    batches: 0,
    requests: 0,
    answered: 0,
    elapsedMs: 0,
    stopped: undefined,
    output: undefined,
    rejectsFile: undefined,
    journal: undefined,
  };
}

type Stopped = NonNullable<ImportSummary['stopped']>;

/** How far the import has come, for messages. */
interface Progress {
  /** Name of the input. */
  name: string;
  /** Rows whose link exists. */
  created: number;
  unsent: number;
  rows: number;
}

/** Why an import ended before every row had its link; undefined when nothing stopped it. */
export function whyStopped(
  { failure, forecast, counts }: Pick<Sent, 'failure' | 'forecast' | 'counts'>,
  progress: Progress,
  { onUnknown }: Pick<ImportSettings, 'onUnknown'>,
  isInterrupted: boolean,
  /** Rows whose jobs can still be polled. */
  inJobs: number,
): Stopped | undefined {
  if (failure !== undefined) return stoppedByError(failure.error, progress);
  // A stop that came when everything was sent already has stopped nothing.
  if (isInterrupted && counts.unsent + counts.unknown > 0) return stoppedByUser(progress);
  if (counts.unknown > 0 && (onUnknown !== 'skip' || inJobs > 0)) {
    return stoppedByUnknown(progress, counts.unknown, inJobs >= counts.unknown);
  }
  const { room } = forecast ?? {};
  if (room !== undefined && forecast?.isShort && counts.unsent > 0) {
    return stoppedByPlan(progress, room);
  }
  return undefined;
}

/** What an error that ended the sending means, in the form: what happened, how far we are, what to do. */
function stoppedByError(error: unknown, progress: Progress): Stopped {
  const reason = reasonOf(error);
  const cause = error instanceof Error ? error.message : String(error);
  const message = `${WORDS[reason](cause)} ${describe(progress)}`;
  const waitMs = RateLimitError.isInstance(error) ? error.retryAfterMs : undefined;
  return { reason, message, error, waitMs };
}

type ErrorReason = Exclude<StopReason, 'rejects' | 'unknown' | 'interrupted'>;

const WORDS: Readonly<Record<ErrorReason, (cause: string) => string>> = {
  authentication: (cause) => `The API key was refused: ${sentence(cause)}`,
  plan_limit: (cause) => `The plan's limit is reached: ${sentence(cause)}`,
  rate_limit: (cause) => `Rate limited for longer than --max-wait: ${sentence(cause)}`,
  error: (cause) => sentence(cause),
};

function reasonOf(error: unknown): ErrorReason {
  if (PlanLimitError.isInstance(error)) return 'plan_limit';
  if (RateLimitError.isInstance(error)) return 'rate_limit';
  if (AuthenticationError.isInstance(error) || PermissionError.isInstance(error)) {
    return 'authentication';
  }
  return 'error';
}

function stoppedByPlan(progress: Progress, room: number): Stopped {
  const had = room === 0 ? 'no more links' : `only ${count(room, 'more link')}`;
  return {
    reason: 'plan_limit',
    message: `The plan's limit is reached: it had room for ${had}. ${describe(progress)}`,
  };
}

/** @param areJobs all of the rows belong to jobs that the service accepted, and that may still be polled */
function stoppedByUnknown(progress: Progress, unknown: number, areJobs: boolean): Stopped {
  if (areJobs) {
    return {
      reason: 'unknown',
      message:
        `The service accepted ${count(unknown, 'row')} of ${progress.name}, and their jobs could not be followed to the ` +
        `end. ${describe(progress)} The next run polls the jobs first, and sends nothing twice.`,
    };
  }
  return {
    reason: 'unknown',
    message:
      `It is not known whether ${count(unknown, 'row')} of ${progress.name} became links: the response to their request ` +
      `was lost. ${describe(progress)} The results file marks them as unknown. Look whether the links exist, then ` +
      'leave these rows with --on-unknown skip, or send them again with --on-unknown retry.',
    mustDecide: true,
  };
}

export function stoppedByUser(progress: Progress): Stopped {
  return { reason: 'interrupted', message: `Interrupted. ${describe(progress)}` };
}

export function stoppedByRejects(
  progress: Progress,
  rejected: number,
  allowed: number,
  rejectsFile: string | undefined,
): Stopped {
  const [they, reasons, them] =
    rejected === 1 ? ['it is', 'its reason', 'it'] : ['they are', 'their reasons', 'them'];
  const where = rejectsFile === undefined ? '' : `; ${they} in ${rejectsFile} with ${reasons}`;
  const than = allowed === 0 ? '' : `, more than the ${grouped(allowed)} allowed`;
  return {
    reason: 'rejects',
    message:
      `${count(rejected, 'row')} of ${progress.name} can't be sent${than}${where}. Nothing was sent. ` +
      `Correct ${them}, or send the other rows only: --max-rejects all`,
  };
}

function describe({ name, created, unsent, rows }: Progress): string {
  const done = `${grouped(created)} of ${count(rows, 'row')} of ${name} are created`;
  return unsent === 0 ? `${done}.` : `${done}, ${grouped(unsent)} are left.`;
}

function count(value: number, noun: string): string {
  return `${grouped(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** `12000` as `12,000`, as the table at the end has it. */
function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
