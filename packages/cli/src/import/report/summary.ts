import { RateLimitError, ShortlinkError } from '@shortlink/sdk';
import type { StopReason } from '../../cli-error.ts';
import { formatCount, plural } from '../../format.ts';
import type { Sent } from '../send/send-new-rows.ts';
import type { ImportSettings, ImportSummary, Stopped } from '../types.ts';

export function emptySummary({ file, dryRun }: ImportSettings): ImportSummary {
  const counts = { rows: 0, created: 0, new: 0, existing: 0, changed: 0, gone: 0, elapsedMs: 0 };
  const others = { rejected: 0, failed: 0, unknown: 0, unsent: 0, batches: 0, requests: 0 };
  const files = { output: undefined, rejectsFile: undefined, journal: undefined };
  return { file, dryRun, ...counts, ...others, ...files, forecast: undefined };
}

/** Undefined when nothing stopped it. */
export function whyStopped(
  { failure, forecast, counts, canAsk }: Sent,
  { onUnknown }: ImportSettings,
  isInterrupted = false,
  /** Rows whose jobs can still be polled. */
  inJobs = 0,
): Stopped | undefined {
  if (failure !== undefined) return stoppedByError(failure.error);
  // A stop that came when everything was sent already has stopped nothing.
  if (isInterrupted && counts.unsent + counts.unknown > 0) return STOPPED_BY_USER;
  if (counts.unknown > 0 && (onUnknown !== 'skip' || inJobs > 0)) {
    return stoppedByUnknown(counts.unknown, inJobs >= counts.unknown, canAsk);
  }
  if (forecast?.isShort && counts.unsent > 0) return stoppedByPlan(forecast.room ?? 0);
  return undefined;
}

export const STOPPED_BY_USER: Stopped = { reason: 'interrupted', message: 'Interrupted.' };

function stoppedByError(error: unknown): Stopped {
  const message = error instanceof Error ? error.message : String(error);
  const waitMs = RateLimitError.isInstance(error) ? error.retryAfterMs : undefined;
  const reason = (ShortlinkError.isInstance(error) && REASONS[error.name]) || 'error';
  return { reason, message, error, waitMs };
}

/** Why an import stops, by the names of the client's errors. */
const REASONS: Readonly<Record<string, StopReason>> = {
  PlanLimitError: 'plan_limit',
  RateLimitError: 'rate_limit',
  AuthenticationError: 'authentication',
  PermissionError: 'authentication',
};

function stoppedByPlan(room: number): Stopped {
  const had = room === 0 ? 'no more links' : `only ${plural(room, 'more link')}`;
  return {
    reason: 'plan_limit',
    message: `The plan's limit is reached: it had room for ${had}.`,
    hint: 'See what is used with: shortlink usage\nWith a larger plan, the same command creates the links that are left.',
  };
}

/** `areJobs`: all of the rows belong to jobs that the service accepted, and that may still be polled. */
function stoppedByUnknown(unknown: number, areJobs: boolean, canAsk: boolean): Stopped {
  const reason = 'unknown';
  const rows = plural(unknown, 'row');
  if (areJobs) {
    const message = `The service accepted ${rows}, but did not report the end of their jobs. The next run polls the jobs first, and sends nothing twice.`;
    return { reason, message };
  }
  const message = `It is not known whether ${rows} became links, because the response to their request was lost or incomplete.`;
  if (canAsk) {
    const next = 'The next run asks the service which of them exist, and sends only the others.';
    return { reason, message: `${message} ${next}` };
  }
  const hint =
    'Look on the server whether these links exist. Then run the command again, with --on-unknown skip to leave these rows, or with --on-unknown retry to send them again.';
  return { reason, message, hint, mustDecide: true };
}

/** Names the file in which the user finds the rows to decide about, once it is written. */
export function withPlace(stopped: Stopped | undefined): Stopped | undefined {
  if (stopped?.mustDecide !== true) return stopped;
  return { ...stopped, message: `${stopped.message} The results file marks them as unknown.` };
}

/** Undefined where no more rows are rejected than are allowed. */
export function stoppedByRejects(
  name: string,
  { rejected, rejectsFile }: ImportSummary,
  allowed: ImportSettings['maxRejects'],
): Stopped | undefined {
  if (allowed === 'all' || rejected <= allowed) return undefined;
  const [they, reasons, them] =
    rejected === 1 ? ['It is', 'its reason', 'it'] : ['They are', 'their reasons', 'them'];
  const where = rejectsFile === undefined ? '' : ` ${they} in ${rejectsFile} with ${reasons}.`;
  const than = allowed === 0 ? '' : `, more than the ${formatCount(allowed)} allowed`;
  return {
    reason: 'rejects',
    message: `${plural(rejected, 'row')} of ${name} can't be sent${than}, so nothing was sent.${where}`,
    hint: `Correct ${them} and run the command again, or send only the other rows with --max-rejects all.`,
  };
}

/** What a dry run says where rejected rows would stop an import. */
export function wouldStop({ rejected }: ImportSummary): string {
  const what = rejected === 1 ? "A row can't be sent: it" : "Some rows can't be sent: they";
  return `${what} would stop the import before anything is sent, unless --max-rejects allows it.`;
}
