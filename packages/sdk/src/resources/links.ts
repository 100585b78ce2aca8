import { createMany } from '../bulk/create-many.ts';
import type { BulkItem, BulkSource, CreateManyDeps, CreateManyOptions } from '../bulk/types.ts';
import { InvalidOptionError } from '../errors/call-errors.ts';
import type { AttemptWatch, Transport } from '../http/request.ts';
import type { RequestOptions } from '../options.ts';
import {
  type BatchAnswer,
  type BatchLinkInput,
  type CreateBatchBody,
  readBatch,
} from '../wire/batch.ts';
import {
  type CreateLinkBody,
  type Link,
  type LinkCopy,
  pickLinkFields,
  readLink,
} from '../wire/link.ts';
import { ROUTES } from '../wire/routes.ts';
import type { Jobs } from './jobs.ts';

/** Creates short links: `shortlink.links`. */
export class Links {
  readonly #transport: Transport;
  readonly #jobs: Jobs;

  constructor(transport: Transport, jobs: Jobs) {
    this.#transport = transport;
    this.#jobs = jobs;
  }

  /**
   * Creates one short link. Exactly the fields of {@link CreateLinkBody} are sent, so that a link of another account, or a
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
  async create(link: CreateLinkBody | LinkCopy, options?: RequestOptions): Promise<Link> {
    const { data } = await this.#transport.request({
      method: 'POST',
      path: ROUTES.links,
      body: toJson('link', () => pickLinkFields(link)),
      read: readLink,
      options,
    });
    return { ...data, target_url: data.target_url || link.target_url };
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
  async createBatch(batch: CreateBatchBody, options?: RequestOptions): Promise<BatchAnswer> {
    const body = toJson('batch', () => ({
      domain_id: batch.domain_id,
      links: batch.links.map((link) => pickLinkFields(link)),
    }));
    return await this.#postBatch(body, batch.links.length, options);
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
  createMany<T extends BatchLinkInput>(
    source: BulkSource<T>,
    options?: CreateManyOptions,
  ): AsyncGenerator<BulkItem<T>, void, undefined> {
    const deps: CreateManyDeps = {
      postBatch: ({ json, count }, post, watch) => this.#postBatch(json, count, post, watch),
      waitForJob: (jobId, wait) => this.#jobs.wait(jobId, wait),
      hasIdempotency: this.#transport.hasIdempotency,
    };
    return createMany(deps, source, options);
  }

  async #postBatch(
    body: string,
    count: number,
    options: RequestOptions | undefined,
    watch?: AttemptWatch,
  ): Promise<BatchAnswer> {
    const { data, retryAfterMs } = await this.#transport.request({
      method: 'POST',
      path: ROUTES.linksBatch,
      body,
      read: readBatch,
      options,
      watch,
    });
    if (data.status === 'completed') return data;
    const batch = { ...data, total: data.total || count };
    this.#jobs.accepted(batch, retryAfterMs);
    return batch;
  }
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
