import type { Transport } from '../http/transport.ts';
import type { RequestOptions } from '../options.ts';
import { type BatchAnswer, batchAnswerSchema, type CreateBatchBody } from '../wire/batch.ts';
import { type CreateLinkBody, type Link, linkSchema } from '../wire/link.ts';
import { ROUTES } from '../wire/routes.ts';

/** Creates short links: `shortlink.links`. */
export class Links {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Creates one short link.
   *
   * @example
   * const link = await shortlink.links.create({ target_url: 'https://example.com/docs', tags: ['docs'] });
   * console.log(link.short_url);
   *
   * @throws BadRequestError when `target_url` or another field is invalid
   * @throws PlanLimitError when the plan's number of links is reached
   * @throws ConnectionError or TimeoutError with `outcome: 'unknown'` when the link may or may not have been created
   */
  create(link: CreateLinkBody, options?: RequestOptions): Promise<Link> {
    return this.#transport.request({
      method: 'POST',
      path: ROUTES.links,
      body: link,
      schema: linkSchema,
      options,
    });
  }

  /**
   * Creates up to 10,000 links in one request. 100 or fewer are answered at once (`status: 'completed'`); more become a
   * job (`status: 'processing'`), to be awaited with `jobs.wait(batch.job_id)`. For more links than one request or the
   * plan takes, see {@link Links.createMany}.
   *
   * @example
   * const batch = await shortlink.links.createBatch({ links });
   * const { results } = batch.status === 'completed' ? batch : await shortlink.jobs.wait(batch.job_id);
   *
   * @throws BadRequestError when an entry is invalid; nothing is created, and `body.details` names the entries
   * @throws PlanLimitError when the plan takes no batch of this size, or not so many links; nothing is created
   * @throws ConnectionError or TimeoutError with `outcome: 'unknown'` when the links may or may not have been created
   */
  createBatch(batch: CreateBatchBody, options?: RequestOptions): Promise<BatchAnswer> {
    return this.#transport.request({
      method: 'POST',
      path: ROUTES.linksBatch,
      body: batch,
      schema: batchAnswerSchema,
      options,
    });
  }
}
