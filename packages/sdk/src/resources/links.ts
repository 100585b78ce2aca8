import { createMany } from '../bulk/create-many.ts';
import type { BulkItem, BulkSource, CreateManyDeps, CreateManyOptions } from '../bulk/types.ts';
import { checkAmount, isLink, notALink, show } from '../check-options.ts';
import { InvalidOptionError } from '../errors/call-errors.ts';
import { ShortlinkError } from '../errors/shortlink-error.ts';
import {
  type AttemptWatch,
  type ResponsePromise,
  responsePromise,
  type Transport,
  type TransportResponse,
} from '../http/request.ts';
import type { RequestOptions } from '../options.ts';
import {
  type BatchInput,
  type BatchResponse,
  type CompletedBatch,
  readBatch,
} from '../wire/batch.ts';
import type { Job } from '../wire/job.ts';
import { type Link, type LinkInput, pickLinkFields, readLink, targetOf } from '../wire/link.ts';
import type { LookupResult } from '../wire/lookup.ts';
import { ROUTES } from '../wire/routes.ts';
import type { Jobs } from './jobs.ts';
import type { KnownJobs } from './known-jobs.ts';
import { type LookupSource, lookup } from './lookup.ts';

/** Creates short links: `shortlink.links`. */
export class Links {
  readonly #transport: Transport;
  readonly #jobs: Jobs;
  readonly #known: KnownJobs;

  /** @internal */
  constructor(transport: Transport, jobs: Jobs, known: KnownJobs) {
    this.#transport = transport;
    this.#jobs = jobs;
    this.#known = known;
  }

  /**
   * Creates one short link. Exactly the fields of {@link LinkInput} are sent, so that a link of another account, or a
   * row of your own, may be given as it is.
   *
   * @example
   * const link = await shortlink.links.create({ target_url: 'https://example.com/docs', tags: ['docs'] });
   * console.log(link.short_url);
   *
   * @throws BadRequestError when `target_url` or another field is invalid
   * @throws PlanLimitError when the plan's number of links is reached
   * @throws ConnectionError or TimeoutError with `outcome: 'unknown'` when the link may or may not have been created
   */
  create(link: LinkInput, options?: RequestOptions): ResponsePromise<Link> {
    return responsePromise(async () => {
      if (!isLink(link)) throw notALink('link', link);
      const response = await this.#transport.request({
        method: 'POST',
        path: ROUTES.links,
        body: toJson('link', () => pickLinkFields(link)),
        read: readLink,
        options,
      });
      const { data } = response;
      return { ...response, data: { ...data, target_url: data.target_url || targetOf(link) } };
    });
  }

  /**
   * Creates up to 10,000 links in one request. 100 or fewer are created at once (`status: 'completed'`); more become a
   * job (`status: 'processing'`), which `jobs.wait(batch.job_id)` waits for. For more links than one request or the plan
   * takes, see {@link Links.createMany}.
   *
   * @example
   * const batch = await shortlink.links.createBatch({ links });
   * const { results } = batch.status === 'completed' ? batch : await shortlink.jobs.wait(batch.job_id);
   *
   * @throws BadRequestError when an entry is invalid; nothing is created, and `body.details` names the entries
   * @throws PlanLimitError when the plan takes no batch of this size, or not so many links; nothing is created
   * @throws ConnectionError or TimeoutError with `outcome: 'unknown'` when the links may or may not have been created
   */
  createBatch(batch: BatchInput, options?: RequestOptions): ResponsePromise<BatchResponse> {
    return responsePromise(async () => {
      checkBatch(batch);
      const body = toJson('batch', () => ({
        domain_id: batch.domain_id ?? undefined,
        links: batch.links.map((link) => pickLinkFields(link)),
      }));
      return await this.#postBatch(body, batch.links.length, options);
    });
  }

  /**
   * Creates up to 10,000 links in one request, and waits for the job if the batch becomes one: the results either way, one
   * for each link, in order.
   *
   * @example
   * const { results } = await shortlink.links.createBatchAndWait({ links }, { onProgress: (job) => console.log(job.processed) });
   *
   * @throws what {@link Links.createBatch} and `jobs.wait` throw. An error of the wait has the `jobId`: wait for that job
   * again, instead of sending its links again
   */
  async createBatchAndWait(
    batch: BatchInput,
    { onProgress, jobTimeoutMs, ...options }: BatchWaitOptions = {},
  ): Promise<CompletedBatch> {
    // Before the request: afterwards no error may claim that nothing was sent.
    checkAmount('jobTimeoutMs', jobTimeoutMs ?? 0, 'milliseconds');
    const response = await this.createBatch(batch, options);
    if (response.status === 'completed') return response;
    const { signal, maxRetries, headers } = options;
    const wait = { onProgress, timeoutMs: jobTimeoutMs, signal, maxRetries, headers };
    try {
      const { results, total } = await this.#jobs.wait(response.job_id, wait);
      return { ...response, status: 'completed', total: total || response.total, results };
    } catch (error) {
      const isOurs = error !== signal?.reason && ShortlinkError.isInstance(error);
      throw isOurs ? Object.assign(error, { jobId: response.job_id }) : error;
    }
  }

  /**
   * Creates any number of links, from any array, generator or stream, and yields the outcome of each, in order. The
   * source is read as needed. Its links are sent in batches as large as the plan allows, jobs are awaited, and no link
   * is sent twice.
   *
   * @example
   * for await (const item of shortlink.links.createMany(source)) {
   *   if (item.outcome === 'created') console.log(item.input.target_url, item.short_url);
   *   else console.error(item.index, item.outcome, item.error);
   * }
   *
   * @throws InvalidOptionError at once, before anything is read or sent
   * @throws PlanLimitError, RateLimitError, AuthenticationError, PermissionError, an error of the source, or the error of a
   * batch with an unknown outcome from the iteration, after every finished link was yielded: those that were not yielded were
   * not created
   */
  createMany<T extends LinkInput>(
    source: BulkSource<T>,
    options?: CreateManyOptions,
  ): AsyncGenerator<BulkItem<T>, void, undefined> {
    const deps: CreateManyDeps = {
      postBatch: async ({ json, count }, post, watch) =>
        (await this.#postBatch(json, count, post, watch)).data,
      waitForJob: (jobId, wait) => this.#jobs.wait(jobId, wait),
      hasIdempotency: this.#transport.hasIdempotency,
    };
    return createMany(deps, source, options);
  }

  /**
   * Finds the links of the account that lead to targets, or that have codes: one result for each entry, in order. Any
   * number of entries is taken, and sent in requests of at most 10,000, one after the other. Nothing is created, so a
   * request that is lost or that fails is repeated like a GET, and no error of it counts as an unknown outcome.
   *
   * An addition of the reference server: `usage.features` has `lookup` where the service offers it. It sees every
   * link that was created before, also those of jobs that were accepted before.
   *
   * @example
   * const [found] = await shortlink.links.lookup(['https://example.com/docs']);
   * console.log(found?.links[0]?.short_url ?? 'no link leads there yet');
   *
   * @example
   * const results = await shortlink.links.lookup({ codes: ['aB3dE5f'] });
   *
   * @param entries targets (`'https://example.com'`, a `URL`, or `{ target_url, domain_id }`), or `{ codes }`
   * @param options apply to each request; `idempotency` has no effect
   * @throws InvalidOptionError for an entry that is no target or no code; entries before it may have been looked up
   * @throws UnsupportedError where the service has no look-up
   * @throws ResponseShapeError for a response that has not one readable result for each entry
   */
  async lookup(entries: LookupSource, options?: RequestOptions): Promise<LookupResult[]> {
    return await lookup(this.#transport, entries, options);
  }

  async #postBatch(
    body: string,
    count: number,
    options: RequestOptions | undefined,
    watch?: AttemptWatch,
  ): Promise<TransportResponse<BatchResponse>> {
    const response = await this.#transport.request({
      method: 'POST',
      path: ROUTES.linksBatch,
      body,
      read: readBatch,
      options,
      watch,
    });
    const { data, retryAfterMs } = response;
    if (data.status === 'completed') return response;
    const batch = { ...data, total: data.total || count };
    this.#known.accepted(batch, retryAfterMs);
    return { ...response, data: batch };
  }
}

/** Options of `links.createBatchAndWait`. Those of a call apply to the batch; `signal`, `maxRetries`, `headers` to each poll too. */
export interface BatchWaitOptions extends RequestOptions {
  /** Called with the job as each successful poll shows it. A batch that is carried out at once has no job. */
  onProgress?: ((job: Job) => void) | undefined;
  /** Longest wait for the job, in milliseconds. `0` is no limit. @default 3_600_000 */
  jobTimeoutMs?: number | undefined;
}

/** @throws InvalidOptionError for what is no batch, or has an entry that is no link */
function checkBatch(batch: unknown): void {
  if (Array.isArray(batch)) {
    throw new InvalidOptionError('batch', '{ links: [...] }, not the list of links itself');
  }
  const links: unknown = Reflect.get(Object(batch), 'links');
  if (!Array.isArray(links)) {
    const [option, given] = Object(batch) === batch ? ['links', links] : ['batch', batch];
    const expected = option === 'links' ? 'a list of links' : '{ links: [...] }';
    throw new InvalidOptionError(option, `${expected}, not ${show(given)}`);
  }
  const wrong = links.findIndex((link) => !isLink(link));
  if (wrong >= 0) throw notALink(`links[${wrong}]`, links[wrong]);
}

/**
 * The JSON of what is sent.
 *
 * @throws InvalidOptionError for what has none, such as a BigInt, or a field whose getter throws: nothing was sent
 */
function toJson(option: string, make: () => object): string {
  try {
    return JSON.stringify(make());
  } catch (error) {
    const invalid = new InvalidOptionError(option, `data that JSON can hold (${String(error)})`);
    invalid.cause = error;
    throw invalid;
  }
}
