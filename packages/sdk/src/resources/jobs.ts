import { checkAmount } from '../check-options.ts';
import { InvalidOptionError } from '../errors/invalid-option-error.ts';
import { type Clock, systemClock } from '../http/clock.ts';
import type { Transport } from '../http/transport.ts';
import type { RequestOptions } from '../options.ts';
import type { Job } from '../wire/job.ts';
import { jobPath } from '../wire/routes.ts';
import type { JobWaiter } from './job-waiter.ts';

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
  #waiter: JobWaiter | undefined;

  constructor(transport: Transport, clock: Clock = systemClock) {
    this.#transport = transport;
    this.#clock = clock;
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
      answer: 'job',
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
    checkAmount('timeoutMs', options.timeoutMs ?? 0, 'milliseconds');
    const waiter = this.#waiter ?? (await this.#loadWaiter(options.signal));
    return await waiter.wait(jobId, options);
  }

  async #loadWaiter(signal: AbortSignal | undefined): Promise<JobWaiter> {
    const load = () => import('./batch-work.ts');
    const { JobWaiter } = await this.#transport.load(load, signal);
    // Waits that began while it loaded share one, since they learn from each other.
    this.#waiter ??= new JobWaiter((id, request) => this.retrieve(id, request), this.#clock);
    return this.#waiter;
  }
}
