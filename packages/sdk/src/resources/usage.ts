import { type ResponsePromise, responsePromise } from '../http/request.ts';
import type { RequestOptions } from '../options.ts';
import { ROUTES } from '../wire/routes.ts';
import { readUsage, type Usage } from '../wire/usage.ts';
import type { ResourceParts } from './jobs.ts';

/** What the account uses of its plan: `shortlink.usage`. */
export class UsageResource {
  readonly #parts: ResourceParts;

  /** @internal */
  constructor(parts: ResourceParts) {
    this.#parts = parts;
  }

  /**
   * Plan, limits and current use of the account, and use per API key. An addition of the reference server: other services
   * respond with 404. It counts against no quota. `features` lists what else the service offers, see {@link Usage.features}.
   *
   * @example
   * const { features = [] } = await shortlink.usage.retrieve();
   * const found = features.includes('lookup')
   *   ? await shortlink.links.lookup(['https://example.com']) : [];
   * console.log(found.length);
   *
   * @throws NotFoundError where the service has no such endpoint
   */
  retrieve(options?: RequestOptions): ResponsePromise<Usage> {
    const usage = { method: 'GET', path: ROUTES.usage, read: readUsage } as const;
    const request = { ...usage, ignoresQuota: true, options };
    return responsePromise(() => this.#parts.transport.request(request));
  }
}
