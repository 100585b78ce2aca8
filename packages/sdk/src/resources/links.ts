import * as bulk from '../bulk/create-many.ts';
import { alignResults } from '../bulk/results.ts';
import * as check from '../check-options.ts';
import { type AttemptWatch, type ResponsePromise, responsePromise } from '../http/request.ts';
import { untilAborted } from '../http/time.ts';
import { CALL_OPTIONS, type RequestOptions, type WaitOptions } from '../options.ts';
import {
  type BatchInput,
  type BatchResponse,
  type CompletedBatch,
  readBatch,
} from '../wire/batch.ts';
import { type Link, type LinkInput, pickLinkFields, readLink } from '../wire/link.ts';
import type { LookupResult } from '../wire/lookup.ts';
import { ROUTES } from '../wire/routes.ts';
import type { Jobs, ResourceParts } from './jobs.ts';
import { type LookupSource, lookup } from './lookup.ts';

/** Options of `links.createBatchAndWait`. Those of a call apply to the batch; `signal` and `headers` to each poll too. */
export interface BatchWaitOptions extends RequestOptions, Pick<WaitOptions, 'onProgress'> {
  /** Longest wait for the job, in milliseconds. `0` is no limit. @default 3_600_000 */
  jobTimeoutMs?: number | undefined;
}

/** Creates short links: `shortlink.links`. */
export class Links {
  readonly #parts: ResourceParts;
  readonly #jobs: Jobs;

  /** @internal */
  constructor(parts: ResourceParts, jobs: Jobs) {
    this.#parts = parts;
    this.#jobs = jobs;
  }

  /**
   * Creates one short link. Exactly the fields of {@link LinkInput} are sent, whatever else the object holds.
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
      if (!check.isLink(link)) throw check.notALink('link', link);
      const { sent, body } = written('link', () => pickLinkFields(link));
      const request = { method: 'POST', path: ROUTES.links, body, read: readLink } as const;
      const response = await this.#parts.transport.request({ ...request, options });
      const { data } = response;
      return { ...response, data: { ...data, target_url: data.target_url || sent.target_url } };
    });
  }

  /**
   * Creates up to 10,000 links in one request. 100 or fewer are created at once (`status: 'completed'`); more become a job
   * (`status: 'processing'`), which `jobs.wait(batch.job_id)` waits for. For any number, see {@link Links.createMany}.
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
      const { sent, body } = writtenBatch(batch);
      return await this.#postBatch(body, sent.links.length, options);
    });
  }

  /**
   * Creates up to 10,000 links in one request, and waits for the job if the batch becomes one. There is one result for each
   * link, in the order of `links`. One that the service has no result for has neither `code` nor `error`.
   *
   * @example
   * const { results } = await shortlink.links.createBatchAndWait({ links }, { onProgress: (job) => console.log(job.processed) });
   *
   * @throws what {@link Links.createBatch} and `jobs.wait` throw. An error of the wait has the `jobId`: wait for that job again,
   * instead of sending its links again. An abort's reason has none: where the id matters, take it from `onProgress`
   */
  async createBatchAndWait(batch: BatchInput, options?: BatchWaitOptions): Promise<CompletedBatch> {
    const names = `${CALL_OPTIONS} onProgress jobTimeoutMs`;
    const { onProgress, jobTimeoutMs, ...call } = check.given(options, names);
    const { sent, body } = writtenBatch(batch);
    const { data } = await this.#postBatch(body, sent.links.length, call);
    const { signal, headers } = call;
    const wait = { onProgress, timeoutMs: jobTimeoutMs, signal, headers };
    const done = data.status === 'completed' ? data : await this.#jobs.wait(data.job_id, wait);
    const results = alignResults(sent.links, done.results);
    const total = done.total || data.total;
    return { ...data, status: 'completed', total, results: [...results] };
  }

  /**
   * Creates any number of links, from any array, generator or stream, and yields the outcome of each, in order. The source is
   * read as needed. Links are sent in batches as large as the plan allows, jobs are awaited, and no link is sent twice. An entry
   * that the service refuses is yielded as `failed`. Leaving the loop early aborts what is in flight, and closes the source.
   *
   * @example
   * for await (const item of shortlink.links.createMany(source)) {
   *   if (item.outcome === 'created') console.log(item.input.target_url, item.short_url);
   *   else console.error(item.index, item.outcome, item.error);
   * }
   *
   * @throws InvalidOptionError at once, before anything is read or sent
   * @throws PlanLimitError, RateLimitError, AuthenticationError, PermissionError, an error of the source, or that of a batch
   * with an unknown outcome, after every finished link was yielded: those that were not yielded were not created
   */
  createMany<T extends LinkInput>(
    source: bulk.BulkSource<T>,
    options?: bulk.CreateManyOptions,
  ): AsyncGenerator<bulk.BulkItem<T>, void, undefined> {
    const deps: bulk.CreateManyDeps = {
      // A run is many requests, so the limit of one call doesn't end it.
      postBatch: async ({ json, count }, post, watch) =>
        (await this.#postBatch(json, count, { ...post, totalTimeoutMs: 0 }, watch)).data,
      waitForJob: (jobId, wait) => this.#jobs.wait(jobId, wait),
    };
    return bulk.createMany(deps, source, options);
  }

  /**
   * Finds the links of the account that lead to targets, or that have codes: one result for each entry, in order. Entries
   * are sent in requests of at most 10,000, one after the other. Nothing is created, so a lost request is repeated like a GET.
   * It sees every link that was created before, also those of jobs that were accepted before.
   *
   * An addition of the reference server: `usage.features` has `lookup` where the service offers it.
   *
   * @example
   * const [found] = await shortlink.links.lookup(['https://example.com/docs']);
   * console.log(found?.links[0]?.short_url ?? 'no link leads there yet');
   * const byCode = await shortlink.links.lookup({ codes: ['aB3dE5f'] });
   *
   * @param entries targets (`'https://example.com'`, a `URL`, or `{ target_url, domain_id }`), or `{ codes }`
   * @param options apply to each request; `idempotency` has no effect
   * @throws InvalidOptionError for an entry that is no target or no code; entries before it may have been looked up
   * @throws UnsupportedError where the service has no look-up
   * @throws ResponseShapeError for a response that has not one readable result for each entry
   */
  async lookup(entries: LookupSource, options?: RequestOptions): Promise<LookupResult[]> {
    const given = check.given(options, CALL_OPTIONS);
    // A source that hangs doesn't listen to the signal.
    return await untilAborted(given.signal, lookup(this.#parts.transport, entries, given));
  }

  async #postBatch(body: string, count: number, options?: RequestOptions, watch?: AttemptWatch) {
    const { transport, known, clock } = this.#parts;
    const request = { method: 'POST', path: ROUTES.linksBatch, body, read: readBatch } as const;
    const response = await transport.request({ ...request, options, watch });
    const { data, retryAfterMs } = response;
    if (data.status === 'completed') return response;
    const total = data.total || count;
    known.accepted(data.job_id, { acceptedAt: clock.now(), total, retryAfterMs });
    return { ...response, data: { ...data, total } };
  }
}

/** @throws InvalidOptionError for what is no batch, or has an entry that is no link */
function writtenBatch(batch: BatchInput) {
  if (Array.isArray(batch)) check.refuse('batch', '{ links: [...] }, not the list of links itself');
  if (Object(batch) !== batch) check.refuse('batch', `{ links: [...] }, not ${check.show(batch)}`);
  const { links, domain_id } = batch;
  if (!Array.isArray(links)) check.refuse('links', `a list of links, not ${check.show(links)}`);
  const wrong = links.findIndex((link) => !check.isLink(link));
  if (wrong >= 0) throw check.notALink(`links[${wrong}]`, links[wrong]);
  const pick = (link: LinkInput) => pickLinkFields(link);
  try {
    return written('batch', () => ({ domain_id: domain_id ?? undefined, links: links.map(pick) }));
  } catch (error) {
    // Where it is about a link, its error says about which one.
    for (const [n, link] of links.entries()) written(`links[${n}]`, () => pick(link));
    throw error;
  }
}

/** What is sent, and its JSON. @throws InvalidOptionError for what JSON can't hold, such as a BigInt or a getter that throws */
function written<T>(option: string, make: () => T) {
  try {
    const sent = make();
    return { sent, body: JSON.stringify(sent) };
  } catch (error) {
    throw check.unwritable(option, error);
  }
}
