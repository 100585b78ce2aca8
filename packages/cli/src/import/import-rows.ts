import type { ImportDeps } from './deps.ts';
import { Journal } from './journal/journal.ts';
import { journalIdentity } from './journal-identity.ts';
import type { RowRules } from './map/row-rules.ts';
import type { Layout } from './read/layout.ts';
import type { Input } from './read/open-input.ts';
import { openResultsSink } from './results-sink.ts';
import { type SendPassResult, sendPass } from './send-pass.ts';
import {
  type Progress,
  type Stopped,
  stoppedByError,
  stoppedByUnknown,
  stoppedByUser,
} from './stop.ts';
import type { TextSink } from './text-sink.ts';
import type { ImportSettings, ImportSummary, RowStatus } from './types.ts';
import type { Validation } from './validation-pass.ts';

/** Passes that may follow the first one to send again what got no answer: what fails three times is not a blip. */
const MAX_REPEATS = 2;

export interface CheckedInput {
  settings: ImportSettings;
  deps: ImportDeps;
  input: Input;
  layout: Layout;
  rules: RowRules;
  found: Validation;
}

/** Sends the rows of an input that was checked, under its journal, and writes the results. */
export async function importRows(
  checked: CheckedInput,
  summary: ImportSummary,
): Promise<ImportSummary> {
  const { settings, deps, input, layout, found } = checked;
  const wallClock = deps.wallClock ?? Date.now;
  const at = () => new Date(wallClock()).toISOString();
  const journal = await Journal.open({
    path: settings.journal,
    identity: journalIdentity(input, layout, settings, found.sha256),
    links: found.links,
    inputName: input.name,
    restart: settings.restart,
    at: at(),
  });
  try {
    announceResume(journal, deps);
    const { result, output } = await sendUntilKnown(checked, journal);
    const counts = output === undefined ? countsOf(journal, found) : result.counts;
    const { created, unsent, unknown } = counts;
    const progress = { name: input.name, created, unsent, rows: found.rows };
    const stopped = whyStopped(result, counts, progress, checked, journal);
    if (stopped === undefined && unsent + unknown === 0) await journal.finish(at());
    return {
      ...summary,
      ...counts,
      batches: result.batches,
      answered: result.answered,
      stopped,
      output,
      journal: settings.journal,
    };
  } finally {
    await journal.close();
  }
}

function announceResume(journal: Journal, deps: Pick<ImportDeps, 'onEvent'>): void {
  if (!journal.isResumed) return;
  let doneRows = 0;
  let acceptedBatches = 0;
  for (const batch of journal.batches.list()) {
    if (batch.state === 'completed' || batch.state === 'failed') doneRows += batch.count;
    if (batch.state === 'accepted') acceptedBatches += 1;
  }
  deps.onEvent({ type: 'resuming', doneRows, acceptedBatches });
}

/** One pass, and where batches without an answer may be sent again, up to two more. */
async function sendUntilKnown(
  checked: CheckedInput,
  journal: Journal,
): Promise<{ result: SendPassResult; output: string | undefined }> {
  const { settings, deps, found } = checked;
  const mayRepeat = settings.onUnknown === 'retry' || settings.idempotency;
  let batches = 0;
  let answered = 0;
  for (let repeats = 0; ; repeats += 1) {
    const sink = await openResultsSink(settings.output, deps.stdout, mayRepeat);
    const result = await discardingOnError(sink, () =>
      sendPass({ ...checked, ...found, journal, sink }),
    );
    batches += result.batches;
    answered += result.answered;
    const isOpen = journal.batches.list().some(({ state }) => state === 'unknown');
    const isStopped =
      result.failure !== undefined || deps.signal.aborted || deps.stopSignal.aborted;
    if (isOpen && mayRepeat && !isStopped && repeats < MAX_REPEATS) {
      await sink.discard();
      continue;
    }
    if (result.isComplete) await sink.finish();
    else await sink.discard();
    const output = result.isComplete ? settings.output : undefined;
    return { result: { ...result, batches, answered }, output };
  }
}

async function discardingOnError<T>(sink: TextSink, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    await sink.discard();
    throw error;
  }
}

/** Counts by the journal, for runs that wrote no results. */
function countsOf(journal: Journal, found: Validation): Record<RowStatus, number> {
  const counts = {
    created: 0,
    rejected: found.rows - found.links,
    failed: 0,
    unknown: 0,
    unsent: found.links,
  };
  for (const batch of journal.batches.list()) {
    counts.unsent -= batch.count;
    if (batch.state === 'failed') counts.failed += batch.count;
    else if (batch.state === 'completed') {
      counts.created += batch.created;
      counts.failed += batch.failed;
      counts.unknown += batch.count - batch.created - batch.failed;
    } else counts.unknown += batch.count;
  }
  return counts;
}

function whyStopped(
  result: SendPassResult,
  counts: Readonly<Record<RowStatus, number>>,
  progress: Progress,
  { deps, settings }: CheckedInput,
  journal: Journal,
): Stopped | undefined {
  if (result.failure !== undefined) return stoppedByError(result.failure.error, progress);
  const isInterrupted = deps.signal.aborted || deps.stopSignal.aborted;
  // A stop that came when everything was sent already has stopped nothing.
  if (isInterrupted && counts.unsent + counts.unknown > 0) return stoppedByUser(progress);
  const inJobs = rowsInJobs(journal);
  const isDecided = settings.onUnknown === 'skip' && inJobs === 0;
  if (counts.unknown === 0 || isDecided) return undefined;
  return stoppedByUnknown(progress, counts.unknown, inJobs === counts.unknown);
}

/** Rows of accepted batches that no run has seen completed: the next one can still ask for their jobs. */
function rowsInJobs(journal: Journal): number {
  let rows = 0;
  for (const batch of journal.batches.list()) {
    const isOpen = batch.state === 'unknown' && batch.job !== undefined;
    if (isOpen || batch.state === 'accepted') rows += batch.count;
  }
  return rows;
}
