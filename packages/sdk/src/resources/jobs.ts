import * as check from '../check-options.ts';
import { NotFoundError, RateLimitError } from '../errors/api-errors.ts';
import {
  JobFailedError,
  JobTimeoutError,
  leaveInDoubt,
  ResponseShapeError,
  TimeoutError,
} from '../errors/call-errors.ts';
import { ShortlinkError } from '../errors/shortlink-error.ts';
import { type ResponsePromise, responsePromise } from '../http/request.ts';
import { asksTooLongWait, backoffMs, isRetryable, retryWaitMs } from '../http/retry.ts';
import { untilAborted } from '../http/time.ts';
import type { HttpTransport, TransportParts } from '../http/transport.ts';
import {
  DEFAULT_JOB_TIMEOUT_MS,
  type RequestOptions,
  WAIT_OPTIONS,
  type WaitOptions,
} from '../options.ts';
import { JOB_FAILURE_STATUSES, type Job, readJob } from '../wire/batch.ts';
import { jobPath } from '../wire/routes.ts';
import * as timing from './poll-timing.ts';

/** Time for a poll that begins just before the deadline, in milliseconds. */
const LAST_POLL_MS = 1_000;
/** Odd polls in a row, see `wait`: one of several databases may know a job later, and a proxy may have its own page. */
const MAX_ODD_POLLS = 5;

export interface ResourceParts
  extends Pick<TransportParts, 'clock' | 'maxRetryAfterMs' | 'random' | 'redact'> {
  transport: Pick<HttpTransport, 'request'>;
  known: timing.KnownJobs;
}

/** Jobs of large batches: `shortlink.jobs`. */
export class Jobs {
  readonly #parts: ResourceParts;

  /** @internal */
  constructor(parts: ResourceParts) {
    this.#parts = parts;
  }

  /**
   * Gets a job once, without waiting. It counts as a request of the plan.
   *
   * @throws NotFoundError for an unknown job or another account's
   * @throws InvalidOptionError for an id that can't be part of a path, such as `..` or one with a slash
   */
  retrieve(jobId: string, options?: RequestOptions): ResponsePromise<Job> {
    return responsePromise(() => this.#poll(jobId, options));
  }

  /**
   * Waits until a job is done and returns it with its results. Polls are made when the service asks for them
   * (`Retry-After`), else they are timed from the job's own progress. A poll that fails temporarily (no connection, a timeout,
   * 408, 429, 5xx) doesn't end the wait, nor do up to five in a row that can't be read, that don't find a job which is known
   * to exist, or that show a completed job without all of its results.
   *
   * A job is done when all of its results are there, whatever the status, or when its status stays `completed` without
   * them. An error that ends the wait has the `jobId`: the job may create its links all the same. Wait for it again.
   *
   * @example
   * const batch = await shortlink.links.createBatch({ links });
   * if (batch.status === 'processing') {
   *   const job = await shortlink.jobs.wait(batch.job_id, { onProgress: (j) => console.log(j.processed, j.total) });
   * }
   *
   * @throws ShortlinkError when `onProgress` throws, with what it threw as the cause
   * @throws JobFailedError when the job ends as `failed`, `cancelled`, `canceled`, `error` or `expired`
   * @throws JobTimeoutError after `timeoutMs`; the job itself continues. Where the last poll failed, its error is the cause
   * @throws NotFoundError for an unknown job or another account's
   * @throws RateLimitError when the service asks for a longer wait than `maxRetryAfterMs`
   */
  async wait(jobId: string, options?: WaitOptions): Promise<Job> {
    const given = check.given(options, WAIT_OPTIONS);
    const accepted = this.#parts.known.take(jobId);
    // An id that a service gave to a batch is that of a job, even where it can't be polled.
    if (accepted === undefined) check.jobId(jobId);
    try {
      return await this.#wait(jobId, given, accepted);
    } catch (error) {
      // It may be waited for again.
      if (accepted !== undefined) this.#parts.known.accepted(jobId, accepted);
      // The reason of an abort is the caller's.
      if (error === given.signal?.reason) leaveInDoubt(error);
      else if (ShortlinkError.isInstance(error)) Object.assign(error, { jobId });
      throw error;
    }
  }

  async #wait(jobId: string, options: WaitOptions, accepted?: timing.AcceptedJob): Promise<Job> {
    const { known, clock, random } = this.#parts;
    const { signal, onProgress, headers, timeoutMs = DEFAULT_JOB_TIMEOUT_MS } = options;
    const startedAt = clock.now();
    const limitMs = timeoutMs || Number.POSITIVE_INFINITY;
    // The deadline has passed when less than 1 ms is left: timers fire a part of a millisecond early.
    const leftMs = () => limitMs - (clock.now() - startedAt);

    const total = options.total ?? accepted?.total ?? 0;
    const acceptedAt = accepted?.acceptedAt ?? startedAt;
    const statedFirstMs = statedWait(accepted?.retryAfterMs);
    let isTimedByService = statedFirstMs !== undefined;
    let delayMs = statedFirstMs ?? timing.firstPollDelay(known.expectedMs(total), total);
    delayMs -= startedAt - acceptedAt;

    const samples: timing.PollSample[] = [];
    let job: Job | undefined;
    let failures = 0;
    let oddPolls = 0;
    for (;;) {
      await clock.delay(Math.max(0, Math.min(delayMs, leftMs())), signal);
      const totalTimeoutMs = timeoutMs && Math.max(LAST_POLL_MS, leftMs());
      try {
        const response = await this.#poll(jobId, { signal, headers, totalTimeoutMs }, true);
        job = response.data;
        // The service looked at the job when the poll was sent. To read thousands of results may take longer than the job.
        const atMs = response.sentAt - acceptedAt;
        samples.push({ atMs, processed: job.processed, total: job.total || total });
        const statedMs = statedWait(response.retryAfterMs);
        if (statedMs !== undefined) isTimedByService = true;
        delayMs = statedMs ?? timing.nextPollDelay(samples);
      } catch (error) {
        if (signal?.aborted || !ShortlinkError.isInstance(error)) throw error;
        failures += 1;
        const isLost = NotFoundError.isInstance(error) && (accepted ?? job) !== undefined;
        const isOdd = isLost || ResponseShapeError.isInstance(error);
        const mayPass = isOdd ? ++oddPolls <= MAX_ODD_POLLS : this.#mayPass(error);
        if (leftMs() < 1 && (mayPass || TimeoutError.isInstance(error))) {
          throw this.#timedOut(jobId, timeoutMs, job, error);
        }
        // A temporary failure says nothing about the job.
        if (!mayPass) throw error;
        delayMs = retryWaitMs(error, failures, random);
        continue;
      }
      failures = 0;
      await show(job, onProgress, signal);
      const end = endOf(job, total);
      if (end === 'failed') throw this.#failed(jobId, job);
      if (end === 'partly' && ++oddPolls <= MAX_ODD_POLLS && leftMs() >= 1) {
        delayMs = Math.max(delayMs, backoffMs(oddPolls, random));
      } else if (end !== undefined) {
        if (!isTimedByService) known.learn(total, samples);
        return job;
      } else {
        oddPolls = 0;
        if (leftMs() < 1) throw this.#timedOut(jobId, timeoutMs, job);
      }
    }
  }

  async #poll(jobId: string, options?: RequestOptions, isRepeatedByCaller?: boolean) {
    check.jobId(jobId);
    const poll = { method: 'GET', path: jobPath(jobId), read: readJob } as const;
    const response = await this.#parts.transport.request({ ...poll, options, isRepeatedByCaller });
    return { ...response, data: { ...response.data, id: response.data.id || jobId } };
  }

  /** Whether a poll that failed with this error may succeed later. */
  #mayPass(error: ShortlinkError): boolean {
    const { maxRetryAfterMs } = this.#parts;
    if (RateLimitError.isInstance(error)) return !asksTooLongWait(error, maxRetryAfterMs);
    return isRetryable(error, { isRead: true, hasIdempotencyKey: false });
  }

  #failed(jobId: string, seen: Job): JobFailedError {
    const job = this.#redacted(seen);
    const message = `Job ${jobId} ended as "${job.status}"; ${progressOf(job)}`;
    return new JobFailedError(message, { jobId, job });
  }

  #timedOut(jobId: string, timeoutMs: number, seen: Job | undefined, cause?: unknown) {
    const progress = seen === undefined ? 'no poll succeeded' : progressOf(seen);
    const message = `Job ${jobId} is not done after ${timeoutMs} ms; ${progress}. The job continues: wait for it again by its id`;
    return new JobTimeoutError(message, { jobId, timeoutMs, job: this.#redacted(seen), cause });
  }

  /** The data without the API key, for errors. */
  #redacted<T extends Job | undefined>(job: T): T {
    return job && JSON.parse(this.#parts.redact(JSON.stringify(job)));
  }
}

/** Calls `onProgress`. The job continues when that fails, so its error is one that names the job. */
async function show(job: Job, onProgress: WaitOptions['onProgress'], signal?: AbortSignal) {
  try {
    await untilAborted(signal, onProgress?.(job));
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ShortlinkError('onProgress failed. The job continues', { cause });
  }
}

/** `Retry-After` has whole seconds, so 0 means less than one: the learned timing is more exact. */
function statedWait(retryAfterMs: number | undefined): number | undefined {
  return retryAfterMs ? Math.max(timing.MIN_POLL_INTERVAL_MS, retryAfterMs) : undefined;
}

/** A service may have any word for a job that is done: with all of its results it is. `partly`: some are missing. */
function endOf({ status, total, results }: Job, submitted: number) {
  const word = status.toLowerCase();
  const expected = total || submitted;
  if (JOB_FAILURE_STATUSES.includes(word)) return 'failed';
  const done = results.filter(({ code, error }) => code || error).length;
  if (word !== 'completed') return expected > 0 && done >= expected ? 'completed' : undefined;
  return done < Math.max(expected, results.length) ? 'partly' : 'completed';
}

function progressOf(job: Job): string {
  return `${job.processed} of ${job.total} links were processed`;
}
