import { InvalidOptionError } from '../errors/invalid-option-error.ts';
import { JobFailedError } from '../errors/job-failed-error.ts';
import { JobTimeoutError } from '../errors/job-timeout-error.ts';
import { TimeoutError } from '../errors/timeout-error.ts';
import { type Clock, systemClock } from '../http/clock.ts';
import type { Transport } from '../http/transport.ts';
import type { RequestOptions } from '../options.ts';
import { JOB_FAILURE_STATUSES, type Job, jobAnswerSchema } from '../wire/job.ts';
import { jobPath } from '../wire/routes.ts';
import { type ExpectedJob, JobForecast } from './job-forecast.ts';
import { firstPollDelay, nextPollDelay, type PollSample, remainingRange } from './poll-timing.ts';

/** Longest wait for a job, in milliseconds, where the caller names none: one hour. */
const DEFAULT_JOB_TIMEOUT_MS = 3_600_000;

/** Time for a poll that begins just before the deadline, in milliseconds. */
const LAST_POLL_MS = 1_000;

/** How long a job is not polled because the one before it is still running, while nothing is known of their length. */
const MAX_UNTAUGHT_MS = 5_000;

/** How often a wait for the first poll looks whether another job has taught something, in milliseconds. */
const LOOK_AGAIN_MS = 100;

/** Options of `jobs.wait`; `maxRetries` and `headers` hold for each poll, whose attempts have the client's `timeoutMs`. */
export interface WaitOptions extends Pick<RequestOptions, 'signal' | 'maxRetries' | 'headers'> {
  /** Called with the answer of every poll, the last one included. */
  onProgress?: ((job: Job) => void) | undefined;

  /** Longest wait for the job, in milliseconds. `0` is no limit. @default 3_600_000 */
  timeoutMs?: number | undefined;

  /**
   * Number of links in the job, `total` of the batch answer. Give it when the batch was accepted just now: the first
   * poll is then timed from the jobs this client waited for before, which saves polls.
   */
  total?: number | undefined;
}

/** Jobs of large batches (spec, "Batch job"). */
export class Jobs {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #forecast: JobForecast;

  constructor(transport: Transport, clock: Clock = systemClock) {
    this.#transport = transport;
    this.#clock = clock;
    this.#forecast = new JobForecast(clock);
  }

  /**
   * Looks at a job once (spec, `GET /api/v1/jobs/<job_id>`). It counts as a request of the plan.
   *
   * @throws NotFoundError for an unknown job or another account's
   */
  async retrieve(jobId: string, options?: RequestOptions): Promise<Job> {
    if (jobId === '') throw new InvalidOptionError('jobId', 'the job_id of a batch answer');
    // Awaited for the sake of workerd, see the transport.
    return await this.#transport.request({
      method: 'GET',
      path: jobPath(jobId),
      schema: jobAnswerSchema,
      options,
    });
  }

  /**
   * Waits until a job is `completed` and returns it with its results. Polls are timed from the job's own progress, so
   * that they are few and the end is still seen soon; a status this client doesn't know counts as not done yet. A
   * `completed` job is returned as it is even where `processed` is less than `total`: the service will do no more of it.
   *
   * @example
   * const batch = await shortlink.links.createBatch({ links });
   * if (batch.status === 'processing') {
   *   const job = await shortlink.jobs.wait(batch.job_id, { onProgress: (j) => console.log(j.processed, j.total) });
   * }
   *
   * @throws JobFailedError when the job ends as `failed`, `cancelled` or `error`
   * @throws JobTimeoutError after `timeoutMs`; the job itself goes on
   * @throws NotFoundError for an unknown job or another account's
   */
  async wait(jobId: string, options: WaitOptions = {}): Promise<Job> {
    const { signal, onProgress, total, timeoutMs = DEFAULT_JOB_TIMEOUT_MS } = options;
    if (!(timeoutMs >= 0)) throw new InvalidOptionError('timeoutMs', 'a number of 0 or more');
    const startedAt = this.#clock.now();
    const limitMs = timeoutMs === 0 ? Number.POSITIVE_INFINITY : timeoutMs;
    const elapsedMs = () => this.#clock.now() - startedAt;

    const expected = total === undefined ? undefined : this.#forecast.begin(total);
    const samples: PollSample[] = [];
    let lastJob: Job | undefined;
    let delayMs: number | undefined;
    try {
      await this.#untilFirstPoll(expected, elapsedMs, limitMs, signal);
      for (;;) {
        if (delayMs !== undefined) {
          await this.#clock.delay(Math.max(0, Math.min(delayMs, limitMs - elapsedMs())), signal);
        }
        try {
          lastJob = await this.retrieve(jobId, {
            signal,
            maxRetries: options.maxRetries,
            headers: options.headers,
            totalTimeoutMs:
              timeoutMs === 0 ? undefined : Math.max(LAST_POLL_MS, limitMs - elapsedMs()),
          });
        } catch (error) {
          if (!TimeoutError.isInstance(error) || elapsedMs() < limitMs) throw error;
          throw jobTimeout(jobId, timeoutMs, lastJob, error);
        }
        onProgress?.(lastJob);

        if (lastJob.status === 'completed') {
          if (expected !== undefined) learn(expected, samples, elapsedMs());
          return lastJob;
        }
        if (isFailure(lastJob.status)) throw jobFailed(jobId, lastJob);
        if (elapsedMs() >= limitMs) throw jobTimeout(jobId, timeoutMs, lastJob);
        samples.push({ atMs: elapsedMs(), processed: lastJob.processed, total: lastJob.total });
        delayMs = nextPollDelay(samples);
      }
    } finally {
      expected?.end();
    }
  }

  /** Waits until the first poll is due. What other jobs teach meanwhile moves it. */
  async #untilFirstPoll(
    job: ExpectedJob | undefined,
    elapsedMs: () => number,
    limitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    for (;;) {
      const dueMs = job === undefined ? firstPollDelay(undefined) : firstPollTime(job);
      const leftMs = Math.min(dueMs, limitMs) - elapsedMs();
      // A wait of less than a clock's smallest step would never end.
      if (leftMs < 1) return;
      await this.#clock.delay(Math.min(leftMs, LOOK_AGAIN_MS), signal);
    }
  }
}

/** When a job is to be polled for the first time, as far as it is known now. */
function firstPollTime(job: ExpectedJob): number {
  const { beganMs, expectedMs, expectedEndMs } = job;
  if (beganMs !== undefined) return beganMs + firstPollDelay(expectedMs);
  return expectedEndMs === undefined ? MAX_UNTAUGHT_MS : firstPollDelay(expectedEndMs);
}

function learn(expected: ExpectedJob, samples: readonly PollSample[], seenMs: number): void {
  const last = samples.at(-1);
  if (last === undefined) {
    expected.completeAtFirstPoll(seenMs);
    return;
  }
  const endMs = last.atMs + (remainingRange(samples)?.longest ?? Number.POSITIVE_INFINITY);
  expected.measured(Math.min(seenMs, endMs));
}

function isFailure(status: string): boolean {
  return JOB_FAILURE_STATUSES.some((failure) => failure === status);
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
  const seen = job === undefined ? 'no poll was answered' : progressOf(job);
  return new JobTimeoutError(
    `Job ${jobId} is not done after ${timeoutMs} ms; ${seen}. It goes on: wait for it again by its id`,
    { jobId, timeoutMs, job, cause },
  );
}
