import type { Transport } from '../http/request.ts';
import type { RequestOptions } from '../options.ts';
import { ROUTES } from '../wire/routes.ts';
import { readUsage, type Usage } from '../wire/usage.ts';

/** What the account uses of its plan: `shortlink.usage`. */
export class UsageResource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Plan, limits and current use of the account, and use per API key. An addition of the reference server: other services
   * respond with 404. It counts against no quota.
   *
   * @throws NotFoundError where the service has no such endpoint
   */
  async retrieve(options?: RequestOptions): Promise<Usage> {
    const { data } = await this.#transport.request({
      method: 'GET',
      path: ROUTES.usage,
      read: readUsage,
      ignoresQuota: true,
      options,
    });
    return data;
  }
}
