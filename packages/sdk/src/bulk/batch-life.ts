import { ApiError } from '../errors/api-errors.ts';
import {
  ConnectionError,
  JobFailedError,
  JobTimeoutError,
  ResponseShapeError,
} from '../errors/call-errors.ts';
import { ShortlinkError } from '../errors/shortlink-error.ts';
import type { AttemptWatch } from '../http/request.ts';
import { onAbort, untilAborted } from '../http/time.ts';
import type { BatchResponse, Job } from '../wire/batch.ts';
import type { LinkInput } from '../wire/link.ts';
import { type Batch, type Entry, rangeOf } from './batch-plan.ts';
import { batchRequest, keyOf, refuseEntries } from './batch-request.ts';
import type { BulkRun } from './bulk-run.ts';
import type { BatchRange, BatchStep } from './create-many.ts';
import { itemOf, resultsOf } from './results.ts';

/** Error of a link that is not in the job of an earlier run, which alone received the reason. */
const NOT_IN_JOB = 'The service refused this link when its batch was sent';

/** Whether an error met while polling would meet the next request too, so that the run ends. */
export function endsRun(error: ShortlinkError): boolean {
  return ApiError.isInstance(error) && [401, 403, 429].includes(error.status);
}

/**
 * One batch from its request to its end: its links have outcomes, or the plan has them again because nothing was created.
 * Neither method rejects for what the service, the network or the journal does.
 */
export class BatchLife<T extends LinkInput> implements AttemptWatch {
  readonly #run: BulkRun<T>;
  readonly #batch: Batch<T>;
  readonly #range: BatchRange;
  /** Aborts the requests. */
  readonly #abort = new AbortController();
  /** What is reported right before the next request is written, and the report under way. */
  #unreported: BatchStep[] = [{ type: 'sent' }];
  #reporting: Promise<void> | undefined;
  #jobId: string | undefined;
  /** Links in the last request; 0 where an earlier run has sent it. */
  #sent = 0;
  /** Whether links may have been created, as far as it is known. */
  #mayBeDone = false;

  constructor(run: BulkRun<T>, batch: Batch<T>) {
    this.#run = run;
    this.#batch = batch;
    this.#range = rangeOf(batch);
  }

  /** Sends the batch and follows it to its end. */
  async send(): Promise<void> {
    const { ending, options, plan } = this.#run;
    if (!(await this.#emit({ type: 'planned' })) || ending.aborted) return this.#unsent();
    let response: BatchResponse | undefined;
    try {
      response = await this.#post(keyOf(this.#range, options.idempotencyKey));
    } catch (thrown) {
      const error = this.#asShortlinkError(thrown);
      const isUnsent = error !== thrown && !this.#mayBeDone;
      return isUnsent ? this.#unsent(thrown) : this.#failed(error);
    }
    if (response === undefined) {
      const { refused } = this.#batch[0] ?? {};
      if (refused !== undefined) plan.allRefused(this.#range.count, refused.cause);
      return this.#completed([]);
    }
    plan.taken(this.#range.count, this.#sent);
    // Other batches of this size may go out now, while the job of this one runs.
    this.#run.notify();
    if (response.status === 'completed') return this.#completed(response.results);
    await this.#emit({ type: 'accepted', job_id: response.job_id });
    return this.follow(response.job_id);
  }

  /** Waits for the job. When that fails, the batch is unknown, and a later run can wait for it again by its `job_id`. */
  async follow(job_id: string): Promise<void> {
    this.#jobId = job_id;
    const total = this.#sent || undefined;
    const { deps, options, signal } = this.#run;
    const onProgress = (job: Job) => this.#tell(() => options.onJobProgress?.(this.#range, job));
    const { jobTimeoutMs, headers } = options;
    const endsAt = performance.now() + jobTimeoutMs;
    let job: Job;
    try {
      job = await this.#run.inTurn(this.#range, () => {
        const timeoutMs = jobTimeoutMs && Math.max(1, Math.ceil(endsAt - performance.now()));
        const how = { signal, timeoutMs, headers, total, onProgress };
        return deps.waitForJob(job_id, how);
      });
    } catch (thrown) {
      const error = this.#asShortlinkError(thrown);
      const isFailed = JobFailedError.isInstance(error);
      // A job that failed is over, and a batch of an earlier run says nothing about those of this one.
      if (total !== undefined && !isFailed) this.#endWithUnknown(error);
      // The last response that was received has the links that the job created until then.
      const job = isFailed || JobTimeoutError.isInstance(error) ? error.job : undefined;
      await this.#notTaken('unknown', error, job);
      if (endsRun(error)) this.#run.endWith(error);
      return;
    }
    const isCut = total === undefined && job.total !== 0 && job.total === job.results.length;
    return this.#completed(job.results, isCut ? NOT_IN_JOB : undefined);
  }

  async beforeSend(): Promise<void> {
    this.#reporting = this.#report();
    await this.#reporting;
    this.#endWithRun();
    this.#mayBeDone ||= !this.#abort.signal.aborted;
  }

  async #report(): Promise<void> {
    for (const step of this.#unreported.splice(0)) {
      if (!(await this.#emit(step))) return;
    }
  }

  nothingDone(): void {
    this.#mayBeDone = false;
    this.#unreported = [{ type: 'sent' }];
    this.#endWithRun();
  }

  /**
   * Aborts the requests where the run has ended. After a soft end, what may have created links is followed to its end; a batch
   * that waits for a rate limit has created nothing, so it isn't sent.
   */
  #endWithRun(): void {
    const { signal, ending } = this.#run;
    if (signal.aborted || (ending.aborted && !this.#mayBeDone)) this.#abort.abort(signal.reason);
  }

  /** Posts the batch until the service takes it: each error that names entries costs one more request without them. */
  async #post(key: string | undefined): Promise<BatchResponse | undefined> {
    const { deps, options } = this.#run;
    const { signal } = this.#abort;
    const ends = [this.#run.signal, this.#run.ending];
    const unfollow = ends.map((end) => onAbort(end, () => this.#endWithRun()));
    try {
      for (;;) {
        const request = batchRequest(this.#batch, options.domain_id, key);
        if (request === undefined) return undefined;
        this.#sent = request.count;
        if (request.count < this.#range.count) {
          this.#unreported.push({ type: 'reduced', results: resultsOf(this.#batch, []) });
        }
        const { timeoutMs, maxRetries, headers } = options;
        const how = { signal, timeoutMs, maxRetries, headers, idempotency: request.key };
        try {
          return await deps.postBatch(request, how, this);
        } catch (error) {
          if (!refuseEntries(this.#batch, request.key !== undefined, error)) throw error;
          this.nothingDone();
          // It is reported as reduced.
          this.#unreported = [];
          signal.throwIfAborted();
        }
      }
    } finally {
      for (const stop of unfollow) stop();
      // So that the next event comes after this one.
      await this.#reporting;
    }
  }

  /** The batch has its results, at once or those of its job. `missing` is the error of links that have none. */
  async #completed(taken: Job['results'], missing?: string): Promise<void> {
    const results = resultsOf(this.#batch, taken, { missing });
    const isUnknown = (entry: Entry<T>, n: number) =>
      entry.refused !== undefined || itemOf(entry, results[n]).outcome === 'unknown';
    // Each batch that this run sent may end like this, as where another service responds.
    const isOwn = this.#sent > 0;
    if (isOwn && this.#batch.every(isUnknown) && this.#batch.some(({ refused }) => !refused)) {
      const message = 'The response has no result for any link of the batch';
      const error = new ResponseShapeError(message, { status: 200, path: 'results' });
      this.#endWithUnknown(error);
      return this.#notTaken('unknown', error);
    }
    await this.#emit({ type: 'completed', results, job_id: this.#jobId });
    this.#run.settle({ batch: this.#batch, results });
  }

  /** The POST ended with an error, after which links may have been created. */
  async #failed(error: ShortlinkError): Promise<void> {
    const { plan } = this.#run;
    const verdict = plan.judge(error, this.#range.count, this.#sent);
    if (typeof verdict === 'number') {
      await this.#emit({ type: 'resized', error });
      plan.put(this.#batch.slice(0, verdict), this.#batch.slice(verdict));
    } else if (verdict === 'unsent') {
      await this.#emit({ type: 'unsent', error });
      this.#run.endWith(error);
    } else {
      if (verdict === 'unknown') this.#endWithUnknown(error);
      await this.#notTaken(verdict, error);
    }
  }

  /** The run ended while nothing of this batch can have been created. */
  async #unsent(cause?: unknown): Promise<void> {
    const message = 'The run ended before this batch was sent';
    const error = new ConnectionError(message, { outcome: 'not-sent', cause });
    await this.#emit({ type: 'unsent', error });
  }

  /** Ends the run before anything is awaited, so that no other batch goes out meanwhile. */
  #endWithUnknown(error: ShortlinkError): void {
    if (this.#run.options.onUnknown === 'stop') this.#run.endWith(error);
  }

  /** The batch failed, or its outcome is unknown. `job` is what was seen of its job last. */
  async #notTaken(outcome: 'failed' | 'unknown', error: ShortlinkError, job?: Job): Promise<void> {
    const { results: taken = [], processed = 0 } = job ?? {};
    // Where more links were processed than have results, some were left out.
    const results = resultsOf(this.#batch, taken, { isBegun: processed <= taken.length });
    await this.#emit({ type: outcome, error, results, job_id: this.#jobId });
    const missing = { outcome, error: error.message, cause: error };
    this.#run.settle({ batch: this.#batch, results, missing });
  }

  #emit(step: BatchStep): Promise<boolean> {
    return this.#tell(() => this.#run.options.onBatch?.({ ...this.#range, ...step }));
  }

  /** Calls the caller back, and returns whether that succeeded. When it fails, the run ends. */
  async #tell(call: () => unknown): Promise<boolean> {
    try {
      await untilAborted(this.#run.overdue, call());
      return true;
    } catch (error) {
      this.#run.endWith(error);
      return false;
    }
  }

  /** What was thrown, as an error with the batch's outcome. What is no error of this package is a defect and ends the run. */
  #asShortlinkError(thrown: unknown): ShortlinkError {
    const signals = [this.#run.signal, this.#abort.signal];
    const isAbort = signals.some(({ aborted, reason }) => aborted && thrown === reason);
    if (!isAbort && ShortlinkError.isInstance(thrown)) return thrown;
    if (!isAbort) this.#run.endWith(thrown);
    const message = 'The run ended while this batch was in flight';
    return new ConnectionError(message, { outcome: 'unknown', cause: thrown });
  }
}
