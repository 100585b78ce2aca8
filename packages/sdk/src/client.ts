import { createTransport } from './http/transport.ts';
import type { ShortlinkOptions } from './options.ts';
import { resolveOptions } from './resolve-options.ts';
import { Jobs } from './resources/jobs.ts';
import { Links } from './resources/links.ts';
import { UsageResource } from './resources/usage.ts';

/**
 * Client of a Shortlink service. One client shares one cooldown and one pace, so use one per API key.
 *
 * @example
 * const shortlink = new Shortlink({ apiKey, baseUrl: 'https://go.example.com' });
 * const link = await shortlink.links.create({ target_url: 'https://example.com/docs' });
 */
export class Shortlink {
  /** Creates links: one, a batch, or any number. */
  readonly links: Links;
  /** Batch jobs: look at one, wait for one. */
  readonly jobs: Jobs;
  /** The account's use of its plan; an addition of the reference server. */
  readonly usage: UsageResource;

  /** @throws InvalidOptionError when an option can't be used, or the API key or address is given nowhere */
  constructor(options: ShortlinkOptions = {}) {
    const transport = createTransport(resolveOptions(options));
    this.jobs = new Jobs(transport);
    this.links = new Links(transport, this.jobs);
    this.usage = new UsageResource(transport);
  }
}
