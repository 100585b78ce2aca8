import { ConnectionError } from '../errors/call-errors.ts';
import { ShortlinkError } from '../errors/shortlink-error.ts';
import type { AttemptWatch } from '../http/request.ts';
import { untilAborted } from '../http/time.ts';
import type { RequestOptions, WaitOptions } from '../options.ts';
import type { BatchResponse as BatchAnswer } from '../wire/batch.ts';
import type { Job } from '../wire/job.ts';
import type { LinkInput as BatchLinkInput } from '../wire/link.ts';
import type { BatchSizing } from './batch-sizing.ts';
import type { SettledBatch } from './results.ts';
import type { BatchRange, BatchStep, CreateManyOptions } from './types.ts';

/** The requests of a bulk run; the client passes its own methods. */
export interface CreateManyDeps {
  /** Sends a batch of `count` links. */
  postBatch(
    batch: { json: string; count: number },
    options: RequestOptions,
    watch: AttemptWatch,
  ): Promise<BatchAnswer>;
  waitForJob(jobId: string, options: WaitOptions): Promise<Job>;
  /** Whether the client gives each POST an idempotency key. */
  readonly hasIdempotency: boolean;
}

/** The part of a run that its batches use. */
export interface RunContext {
  readonly deps: CreateManyDeps;
  readonly options: CreateManyOptions;
  /** Aborted when the run ends at once. */
  readonly signal: AbortSignal;
  /** Aborted a moment after `signal`: from then on no callback of the caller is awaited. */
  readonly overdue: AbortSignal;
  /** Aborted when the run ends in any way: from then on nothing is sent. */
  readonly ending: AbortSignal;
  /** Which batch sizes the service takes, as far as the run knows. */
  readonly sizing: BatchSizing;
  /** The service took `sent` links of the batch and refused its other entries. */
  taken(range: BatchRange, sent: number): void;
  /** No new batch is started, and the iteration throws `reason` at its end. The first reason wins. */
  endWith(reason: unknown): void;
}

/** Links that go out as one request. */
export interface Batch<T extends BatchLinkInput> {
  first: number;
  inputs: readonly T[];
  /** Entries that the service refused, by their position in the source. Parts of one batch share it. */
  refused: Map<number, RefusedEntry>;
}

/** Why the service refused one entry of a batch. */
export interface RefusedEntry {
  error: string;
  cause: ShortlinkError;
}

/**
 * How a batch's life ended. All but `settled` mean that nothing was created: `resized` batches are sent again in batches of
 * at most `size`, `split` ones in two halves, `filled` ones with `room` links first.
 */
export type BatchEnd<T extends BatchLinkInput> =
  | { type: 'settled'; batch: SettledBatch<T> }
  | { type: 'resized'; size: number }
  | { type: 'split' }
  | { type: 'filled'; room: number }
  | { type: 'unsent' };

export function rangeOf({ first, inputs }: Batch<BatchLinkInput>): BatchRange {
  return { first, count: inputs.length };
}

/** Options that every request of the run has. */
export function requestOptions(
  run: RunContext,
): Pick<RequestOptions, 'signal' | 'maxRetries' | 'headers'> {
  return { signal: run.signal, maxRetries: run.options.maxRetries, headers: run.options.headers };
}

/**
 * Calls `onBatch`, and returns whether it succeeded. When it fails, the run ends, but a batch that was sent is still
 * followed to its end.
 */
export async function emit(
  run: RunContext,
  batch: Batch<BatchLinkInput>,
  step: BatchStep,
): Promise<boolean> {
  try {
    const event = { ...rangeOf(batch), ...step };
    await untilAborted(run.overdue, run.options.onBatch?.(event));
    return true;
  } catch (error) {
    run.endWith(error);
    return false;
  }
}

/**
 * What was thrown, as an error with the outcome of the batch. An abort rejects with the caller's own reason,
 * which may be an error of this package too, and then says nothing about the batch. Anything else that is not an error of
 * this package is a defect and ends the run.
 */
export function asShortlinkError(run: RunContext, thrown: unknown): ShortlinkError {
  const isAbort = run.signal.aborted && thrown === run.signal.reason;
  if (!isAbort && ShortlinkError.isInstance(thrown)) return thrown;
  if (!isAbort) run.endWith(thrown);
  return new ConnectionError(
    `The run ended while this batch was in flight${isAbort ? '' : ', by an error'}`,
    { outcome: 'unknown', cause: thrown },
  );
}
