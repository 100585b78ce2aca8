import { JobFailedError } from '../errors/job-failed-error.ts';
import { JobTimeoutError } from '../errors/job-timeout-error.ts';
import { TimeoutError } from '../errors/timeout-error.ts';
import type { Clock } from '../http/clock.ts';
import type { RequestOptions } from '../options.ts';
import type { Job } from '../wire/job.ts';
import { JOB_FAILURE_STATUSES } from '../wire/job-statuses.ts';
import { type ExpectedJob, JobForecast } from './job-forecast.ts';
import type { WaitOptions } from './jobs.ts';
import { firstPollDelay, nextPollDelay, type PollSample, remainingRange } from './poll-timing.ts';

/** Longest wait for a job, in milliseconds, where the caller names none: one hour. */
const DEFAULT_JOB_TIMEOUT_MS = 3_600_000;

/** Time for a poll that begins just before the deadline, in milliseconds. */
const LAST_POLL_MS = 1_000;

/** How long a job is not polled because the one before it is still running, while nothing is known of their length. */
const MAX_UNTAUGHT_MS = 5_000;

/** How often a wait for the first poll looks whether another job has taught something, in milliseconds. */
const LOOK_AGAIN_MS = 100;

/** Waits for the jobs of one client, each of which teaches how long the next one may take. */
export class JobWaiter {
  readonly #retrieve: (jobId: string, options: RequestOptions) => Promise<Job>;
  readonly #clock: Clock;
  readonly #forecast: JobForecast;

  constructor(retrieve: (jobId: string, options: RequestOptions) => Promise<Job>, clock: Clock) {
    this.#retrieve = retrieve;
    this.#clock = clock;
    this.#forecast = new JobForecast(clock);
  }

  /** See {@link Jobs.wait}. */
  async wait(jobId: string, options: WaitOptions): Promise<Job> {
    const { signal, onProgress, total, timeoutMs = DEFAULT_JOB_TIMEOUT_MS } = options;
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
          lastJob = await this.#retrieve(jobId, {
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
