import type { Transport } from '../http/transport.ts';
import type { RequestOptions } from '../options.ts';
import { ROUTES } from '../wire/routes.ts';
import type { Usage } from '../wire/usage.ts';

/** What the account uses of its plan: `shortlink.usage`. */
export class UsageResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Plan, limits and current use of the account, and use per API key. An addition of the reference server (spec, rule 4,
   * has the figures in its analytics view only): other deployments answer 404. It counts against no quota.
   *
   * @throws NotFoundError where the service has no such endpoint
   */
  retrieve(options?: RequestOptions): Promise<Usage> {
    return this.#transport.request({
      method: 'GET',
      path: ROUTES.usage,
      answer: 'usage',
      options,
    });
  }
}
