import { checkAmount, checkJobId } from '../check-options.ts';
import { type Clock, systemClock } from '../http/time.ts';
import type { Reply, Transport } from '../http/transport.ts';
import type { RequestOptions } from '../options.ts';
import type { ProcessingBatch } from '../wire/batch.ts';
import { type Job, readJob } from '../wire/job.ts';
import { jobPath } from '../wire/routes.ts';
import { JobWaiter } from './job-waiter.ts';

/** Options of `jobs.wait`; `maxRetries` and `headers` hold for each poll, whose attempts have the client's `timeoutMs`. */
export interface WaitOptions extends Pick<RequestOptions, 'signal' | 'maxRetries' | 'headers'> {
  /** Called with the job as each successful poll shows it, the last one included. */
  onProgress?: ((job: Job) => void) | undefined;

  /** Longest wait for the job, in milliseconds. `0` is no limit. @default 3_600_000 */
  timeoutMs?: number | undefined;

  /**
   * Number of links in the job, `total` of the batch. It times the first poll by the jobs that this client waited for
   * before. @default the `total` of the batch, where this client created it
   */
  total?: number | undefined;
}

/** Jobs of large batches: `shortlink.jobs`. */
export class Jobs {
  readonly #transport: Transport;
  readonly #waiter: JobWaiter;

  constructor(transport: Transport, clock: Clock = systemClock) {
    this.#transport = transport;
    this.#waiter = new JobWaiter((id, request) => this.#poll(id, request), transport, clock);
  }

  /**
   * Looks at a job once. It counts as a request of the plan.
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
   * that fails in a way that may pass (no connection, a timeout, 408, 429, 5xx) is no news: the wait continues, with
   * backoff.
   *
   * A job is done when its status is `completed`, or when all of its results are there, whatever the status. A `completed`
   * job is returned even where `processed` is less than `total`: the service will do no more of it. Any other status that
   * this client doesn't know counts as not done yet.
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
    return await this.#waiter.wait(jobId, options);
  }

  /**
   * A batch of this client became a job. Called by `links`.
   *
   * @internal
   */
  accepted(batch: ProcessingBatch, retryAfterMs: number | undefined): void {
    this.#waiter.accepted(batch, retryAfterMs);
  }

  async #poll(jobId: string, options: RequestOptions | undefined): Promise<Reply<Job>> {
    checkJobId(jobId);
    const { data, retryAfterMs } = await this.#transport.request({
      method: 'GET',
      path: jobPath(jobId),
      read: readJob,
      options,
    });
    return { data: { ...data, id: data.id || jobId }, retryAfterMs };
  }
}
