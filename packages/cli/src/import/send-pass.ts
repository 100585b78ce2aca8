import { stat } from 'node:fs/promises';
import type { BatchRecord } from '@shortlink/sdk';
import { BatchRecorder } from './batch-recorder.ts';
import type { ImportDeps } from './deps.ts';
import { inputError, systemReason } from './errors.ts';
import { guardSink } from './guarded-sink.ts';
import type { Journal } from './journal/journal.ts';
import { holdBack, resumeFrom } from './journal/resume.ts';
import { JournalFates } from './journal-fates.ts';
import { LinkSource } from './link-source.ts';
import type { RowRules } from './map/row-rules.ts';
import type { Layout } from './read/layout.ts';
import type { Input } from './read/open-input.ts';
import { readRows } from './read/read-rows.ts';
import { createResultsFormat } from './results.ts';
import { ResultsWriter } from './results-writer.ts';
import type { RowSet } from './row-set.ts';
import type { TextSink } from './text-sink.ts';
import type { ImportSettings, RowStatus } from './types.ts';

export interface SendPassInput {
  input: Input;
  layout: Layout;
  rules: RowRules;
  journal: Journal;
  /** Rows of the input, and those among them that are links. */
  rows: number;
  links: number;
  rejectedRows: RowSet;
  settings: ImportSettings;
  deps: ImportDeps;
  sink: TextSink;
}

export interface SendPassResult {
  /** Of the rows that were written; all of them, if `isComplete`. */
  counts: Record<RowStatus, number>;
  /** Whether the results hold every row. */
  isComplete: boolean;
  /** Batches answered, and their rows. */
  batches: number;
  answered: number;
  /** What ended the sending early; undefined where nothing did, or the user. */
  failure: { error: unknown } | undefined;
}

/**
 * Sends what the journal doesn't know of yet and writes the results of all rows, in one reading of the input: the rows that were
 * found good go to `createMany`, and each row is written once its fate and that of all before it is known.
 */
export async function sendPass(pass: SendPassInput): Promise<SendPassResult> {
  const { input, layout, journal, settings, deps } = pass;
  const wallClock = deps.wallClock ?? Date.now;
  const { idempotency, onUnknown } = settings;
  const stop = new AbortController();
  // Leaving the loop over `createMany` would abort what is in flight, so a full disk only keeps new batches back.
  const sink = guardSink(pass.sink, () => stop.abort());
  const writer = new ResultsWriter(
    sink,
    createResultsFormat(settings.outputFormat, layout.plan.columns),
    new JournalFates(journal),
  );
  const source = new LinkSource(readRows(input, layout), pass, writer);
  const recorder = new BatchRecorder({
    journal,
    deps,
    total: pass.links,
    idempotency,
    wallClock,
    checkInput: await inputGuard(input),
    targetAt: (index) => writer.targetAt(index),
    onUnknown: () => {
      // With its key a batch can be sent again without harm: that is no reason to stop.
      if (onUnknown === 'stop' && !idempotency) stop.abort();
    },
  });
  const { records, undecided } = resumeFrom(journal, {
    onUnknown,
    idempotency,
    wallClock: wallClock(),
  });
  if (onUnknown === 'stop' && undecided.length > 0) records.push(...holdBack(records, pass.links));

  let failure: SendPassResult['failure'];
  try {
    if (hasWork(records, pass.links)) {
      const items = deps.client.links.createMany(source, {
        domain_id: settings.defaults.domain_id,
        batchSize: settings.batchSize,
        concurrency: settings.concurrency,
        resume: records,
        signal: deps.signal,
        stopSignal: AbortSignal.any([deps.stopSignal, stop.signal]),
        onBatch: (event) => recorder.onBatch(event),
        onJobProgress: (_, { id, processed, total }) =>
          deps.onEvent({ type: 'job-progress', jobId: id, processed, total }),
        ...(idempotency && { idempotencyKey: (range) => recorder.idempotencyKey(range) }),
      });
      await writer.writeItems(items);
    }
  } catch (error) {
    failure = { error };
  }
  try {
    // "Stop now": the journal has everything, and the next run writes the results.
    if (!deps.signal.aborted) await writer.writeRest(source);
  } finally {
    await source.close();
    writer.dispose();
  }
  const { counts } = writer;
  const written = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return {
    counts,
    isComplete: written === pass.rows && sink.failure === undefined,
    batches: recorder.answered,
    answered: recorder.answeredRows,
    failure: deps.signal.aborted ? undefined : (sink.failure ?? failure),
  };
}

/** Whether there is anything to send, or a job to follow. */
function hasWork(records: readonly BatchRecord[], links: number): boolean {
  let settled = 0;
  for (const { state, count } of records) {
    if (state === 'planned' || state === 'accepted') return true;
    settled += count;
  }
  return settled < links;
}

/** Finds out whether somebody writes to the input while it is being sent: its rows would no longer be those checked. */
async function inputGuard(input: Input): Promise<() => Promise<void>> {
  const before = await stat(input.path);
  return async () => {
    const now = await stat(input.path).catch((cause: unknown) => {
      throw inputError(
        `${input.name} was taken away while it was being imported: ${systemReason(cause)}`,
        'Put it back and run the same command to go on.',
      );
    });
    if (now.size !== before.size || now.mtimeMs !== before.mtimeMs || now.ino !== before.ino) {
      throw inputError(
        `${input.name} was changed while it was being imported`,
        'Put the old content back and run the same command to go on.',
      );
    }
  };
}
