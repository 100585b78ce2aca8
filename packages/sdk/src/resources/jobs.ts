import { checkAmount, checkJobId } from '../check-options.ts';
import { NotFoundError } from '../errors/api-errors.ts';
import { ResponseShapeError, TimeoutError } from '../errors/call-errors.ts';
import { JobFailedError, JobTimeoutError } from '../errors/job-errors.ts';
import type { Reply, Transport } from '../http/request.ts';
import { type Clock, systemClock, untilAborted } from '../http/time.ts';
import type { RequestOptions, WaitOptions } from '../options.ts';
import type { ProcessingBatch } from '../wire/batch.ts';
import { JOB_FAILURE_STATUSES, type Job, readJob } from '../wire/job.ts';
import { jobPath } from '../wire/routes.ts';
import {
  firstPollDelay,
  JobLengths,
  MIN_POLL_INTERVAL_MS,
  nextPollDelay,
  type PollSample,
  remainingRange,
} from './poll-timing.ts';

/** Longest wait for a job, in milliseconds, where the caller names none: one hour. */
const DEFAULT_JOB_TIMEOUT_MS = 3_600_000;

/** Time for a poll that begins just before the deadline, in milliseconds. */
const LAST_POLL_MS = 1_000;

/**
 * Polls since the last good one that may find no job that exists, or respond with what can't be read: a service with
 * several databases may know a job a moment later in one of them, and a proxy may respond with a page of its own.
 */
const MAX_ODD_POLLS = 5;

/** Accepted jobs that are remembered for a wait that may follow: enough for every batch in flight. */
const MAX_REMEMBERED_JOBS = 1_000;

/** A job that a batch of this client became. */
interface AcceptedJob {
  acceptedAt: number;
  total: number;
  /** When the service wants the first poll, after the acceptance, where it says so. */
  retryAfterMs: number | undefined;
}

/** Jobs of large batches: `shortlink.jobs`. */
export class Jobs {
  readonly #transport: Transport;
  readonly #clock: Clock;
  /** How long the jobs of this client take. */
  readonly #lengths = new JobLengths();
  readonly #accepted = new Map<string, AcceptedJob>();

  constructor(transport: Transport, clock: Clock = systemClock) {
    this.#transport = transport;
    this.#clock = clock;
  }

  /**
   * Gets a job once, without waiting. It counts as a request of the plan.
   *
   * @throws NotFoundError for an unknown job or another account's
   * @throws InvalidOptionError for an id that can't be part of a path, such as `..` or one with a slash
   */
  async retrieve(jobId: string, options?: RequestOptions): Promise<Job> {
    const { data } = await this.#poll(jobId, options);
    return data;
  }

  /**
   * Waits until a job is done and returns it with its results. Polls are made when the service asks for them
   * (`Retry-After`), else they are timed from the job's own progress, so that they are few and the end is seen soon. A poll
   * that fails temporarily (no connection, a timeout, 408, 429, 5xx) doesn't end the wait: it continues, with backoff. So do
   * up to five that can't be read, or that don't find a job which is known to exist, until a poll succeeds again.
   *
   * A job is done when its status is `completed`, or when all of its results are there, whatever the status. A `completed`
   * job is returned even where `processed` is less than `total`: the service will do no more of it. Any other status that
   * the client doesn't know means that the job is not done yet.
   *
   * @example
   * const batch = await shortlink.links.createBatch({ links });
   * if (batch.status === 'processing') {
   *   const job = await shortlink.jobs.wait(batch.job_id, { onProgress: (j) => console.log(j.processed, j.total) });
   * }
   *
   * @throws JobFailedError when the job ends as `failed`, `cancelled`, `canceled`, `error` or `expired`
   * @throws JobTimeoutError after `timeoutMs`; the job itself continues. Where the last poll failed, its error is the cause
   * @throws NotFoundError for an unknown job or another account's
   * @throws RateLimitError when the service asks for a longer wait than `maxRetryAfterMs`
   */
  async wait(jobId: string, options: WaitOptions = {}): Promise<Job> {
    checkJobId(jobId);
    checkAmount('timeoutMs', options.timeoutMs ?? 0, 'milliseconds');
    const { signal, onProgress, maxRetries, headers, timeoutMs = DEFAULT_JOB_TIMEOUT_MS } = options;
    const startedAt = this.#clock.now();
    const limitMs = timeoutMs === 0 ? Number.POSITIVE_INFINITY : timeoutMs;
    // Less than 1 ms is none: a timer may fire that much early, and times with fractions don't add up exactly.
    const leftMs = () => limitMs - (this.#clock.now() - startedAt);

    const accepted = this.#accepted.get(jobId);
    this.#accepted.delete(jobId);
    const total = options.total ?? accepted?.total ?? 0;
    const acceptedAt = accepted?.acceptedAt ?? startedAt;

    const samples: PollSample[] = [];
    let job: Job | undefined;
    let failures = 0;
    let oddPolls = 0;
    let isTimedByService = accepted?.retryAfterMs !== undefined;
    let delayMs =
      accepted?.retryAfterMs ??
      firstPollDelay(total > 0 ? this.#lengths.expectedMs(total) : undefined, total);
    delayMs -= this.#clock.now() - acceptedAt;

    for (;;) {
      await this.#clock.delay(Math.max(0, Math.min(delayMs, leftMs())), signal);
      const totalTimeoutMs = timeoutMs === 0 ? undefined : Math.max(LAST_POLL_MS, leftMs());
      try {
        const reply = await this.#poll(jobId, { signal, maxRetries, headers, totalTimeoutMs });
        job = reply.data;
        failures = 0;
        oddPolls = 0;
        // The service looked at the job when the poll was sent. To read thousands of results may take longer than the job.
        const atMs = reply.sentAt - acceptedAt;
        samples.push({ atMs, processed: job.processed, total: job.total || total });
        const statedMs = statedWait(reply.retryAfterMs);
        if (statedMs !== undefined) isTimedByService = true;
        delayMs = statedMs ?? nextPollDelay(samples);
      } catch (error) {
        if (signal?.aborted) throw error;
        failures += 1;
        const isOdd = isOddPoll(error, (accepted ?? job) !== undefined);
        if (isOdd) oddPolls += 1;
        const mayPass = isOdd && oddPolls <= MAX_ODD_POLLS;
        const waitMs = this.#transport.waitAfterFailedGet(error, failures, mayPass);
        if (leftMs() < 1 && (waitMs !== undefined || TimeoutError.isInstance(error))) {
          throw jobTimeout(jobId, timeoutMs, this.#transport.redactData(job), error);
        }
        // A temporary failure says nothing about the job.
        if (waitMs === undefined) throw error;
        delayMs = waitMs;
        continue;
      }
      await untilAborted(signal, onProgress?.(job));
      const end = endOf(job, total);
      if (end === 'failed') throw jobFailed(jobId, this.#transport.redactData(job));
      if (end === 'completed') {
        if (!isTimedByService) this.#learn(total, samples);
        return job;
      }
      if (leftMs() < 1) throw jobTimeout(jobId, timeoutMs, this.#transport.redactData(job));
    }
  }

  /**
   * A batch of this client became a job. Called by `links`.
   *
   * @internal
   */
  accepted(batch: ProcessingBatch, retryAfterMs: number | undefined): void {
    const { job_id, total } = batch;
    const [oldest] = this.#accepted.keys();
    if (this.#accepted.size >= MAX_REMEMBERED_JOBS && oldest !== undefined) {
      this.#accepted.delete(oldest);
    }
    const acceptedAt = this.#clock.now();
    this.#accepted.set(job_id, { acceptedAt, total, retryAfterMs: statedWait(retryAfterMs) });
  }

  async #poll(jobId: string, options: RequestOptions | undefined): Promise<Reply<Job>> {
    checkJobId(jobId);
    const reply = await this.#transport.request({
      method: 'GET',
      path: jobPath(jobId),
      read: readJob,
      options,
    });
    return { ...reply, data: { ...reply.data, id: reply.data.id || jobId } };
  }

  /** @param samples the polls of a job, the last of which saw it complete */
  #learn(total: number, samples: readonly PollSample[]): void {
    const before = [...samples];
    const seenMs = before.pop()?.atMs ?? 0;
    const last = before.at(-1);
    if (last === undefined) {
      this.#lengths.completeAtFirstPoll(total, seenMs);
      return;
    }
    const endMs = last.atMs + (remainingRange(before)?.longest ?? Number.POSITIVE_INFINITY);
    this.#lengths.measured(total, Math.min(seenMs, endMs));
  }
}

/** A job that is known to exist was not found, or a response can't be read. */
function isOddPoll(error: unknown, isKnown: boolean): boolean {
  return ResponseShapeError.isInstance(error) || (isKnown && NotFoundError.isInstance(error));
}

/** `Retry-After` has whole seconds, so 0 says no more than that it takes less than one: the learned timing is more exact. */
function statedWait(retryAfterMs: number | undefined): number | undefined {
  return retryAfterMs === undefined || retryAfterMs <= 0
    ? undefined
    : Math.max(MIN_POLL_INTERVAL_MS, retryAfterMs);
}

/** A service may have any word for a job that is done: with all of its results it is. */
function endOf(
  { status, total, results }: Job,
  submitted: number,
): 'completed' | 'failed' | undefined {
  const word = status.toLowerCase();
  if (word === 'completed') return 'completed';
  if (JOB_FAILURE_STATUSES.some((failure) => failure === word)) return 'failed';
  const expected = total || submitted;
  const done = results.filter(({ code, error }) => code || error).length;
  return expected > 0 && done >= expected ? 'completed' : undefined;
}

function progressOf(job: Job): string {
  return `${job.processed} of ${job.total} links were processed`;
}

function jobFailed(jobId: string, job: Job): JobFailedError {
  return new JobFailedError(`Job ${jobId} ended as "${job.status}"; ${progressOf(job)}`, {
    jobId,
    job,
  });
}

function jobTimeout(
  jobId: string,
  timeoutMs: number,
  job: Job | undefined,
  cause?: unknown,
): JobTimeoutError {
  const seen = job === undefined ? 'no poll succeeded' : progressOf(job);
  return new JobTimeoutError(
    `Job ${jobId} is not done after ${timeoutMs} ms; ${seen}. The job continues: wait for it again by its id`,
    { jobId, timeoutMs, job, cause },
  );
}
