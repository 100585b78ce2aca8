import { ConnectionError } from '../errors/call-errors.ts';
import { ShortlinkError } from '../errors/shortlink-error.ts';
import type { AttemptWatch } from '../http/transport.ts';
import type { RequestOptions } from '../options.ts';
import type { BatchAnswer, BatchLinkInput, CreateBatchBody } from '../wire/batch.ts';
import type { Job } from '../wire/job.ts';
import type { ItemOutcome, SettledBatch } from './item-outcome.ts';
import type { BatchEvent, BatchRange, CreateManyOptions } from './types.ts';

/** What a bulk run calls; the client hands in its own methods. */
export interface CreateManyDeps {
  createBatch(
    body: CreateBatchBody,
    options: RequestOptions,
    watch: AttemptWatch,
  ): Promise<BatchAnswer>;
  waitForJob(jobId: string, options: WaitForJobOptions): Promise<Job>;
}

/** The part of `jobs.wait`'s options that a bulk run uses. */
export interface WaitForJobOptions
  extends Pick<RequestOptions, 'signal' | 'maxRetries' | 'headers'> {
  timeoutMs?: number | undefined;
  total?: number | undefined;
  onProgress?: ((job: Job) => void) | undefined;
}

/** What a batch needs of the run it belongs to. */
export interface RunContext {
  readonly deps: CreateManyDeps;
  readonly options: CreateManyOptions;
  /** Aborted when the run ends hard. */
  readonly signal: AbortSignal;
  /** Aborted when the run ends in any way: from then on nothing is sent. */
  readonly ending: AbortSignal;
  /** Largest batch that the service took so far. */
  readonly largestTaken: number;
  /** The service took a batch of this size. */
  taken(count: number): void;
  /** No new batch is started, and the iteration throws `reason` at its end. The first reason wins. */
  endWith(reason: unknown): void;
}

/** Links that go out as one request. */
export interface Batch<T extends BatchLinkInput> {
  first: number;
  inputs: readonly T[];
}

/** How a batch's life ended; `smaller` is the size to try next. */
export type BatchEnd<T extends BatchLinkInput> =
  | { type: 'settled'; batch: SettledBatch<T> }
  | { type: 'resized'; smaller: number }
  | { type: 'unsent' };

export function settledEnd<T extends BatchLinkInput>(
  { first, inputs }: Batch<T>,
  outcome: (offset: number) => ItemOutcome,
): BatchEnd<T> {
  return { type: 'settled', batch: { first, inputs, outcome } };
}

export function rangeOf({ first, inputs }: Batch<BatchLinkInput>): BatchRange {
  return { first, count: inputs.length };
}

/** Options that every request of the run has. */
export function requestOptions(
  run: RunContext,
): Pick<RequestOptions, 'signal' | 'maxRetries' | 'headers'> {
  return { signal: run.signal, maxRetries: run.options.maxRetries, headers: run.options.headers };
}

/** Tells the journal, and whether it took it. A journal that fails ends the run; what was sent is followed all the same. */
export async function emit(run: RunContext, event: BatchEvent): Promise<boolean> {
  try {
    await run.options.onBatch?.(event);
    return true;
  } catch (error) {
    run.endWith(error);
    return false;
  }
}

/**
 * What was thrown, as an error that says what is known of the batch. An abort rejects with the caller's own reason,
 * which may be an error of this package too, and then says nothing about the batch. What is neither is a defect: it
 * ends the run.
 */
export function asShortlinkError(run: RunContext, thrown: unknown): ShortlinkError {
  const isAbort = run.signal.aborted && thrown === run.signal.reason;
  if (!isAbort && ShortlinkError.isInstance(thrown)) return thrown;
  if (!isAbort) run.endWith(thrown);
  return new ConnectionError(
    isAbort
      ? 'The run ended while this batch was in flight'
      : 'An unexpected error ended the run while this batch was in flight',
    { outcome: 'unknown', cause: thrown },
  );
}
