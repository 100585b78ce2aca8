import { inputError } from '@shortlink/tables/basics';
import type { OwnLink } from '../map/result-columns.ts';
import type { ImportDeps } from '../types.ts';

/** Links of one address that are asked for, since some may be gone. */
const SAMPLES = 20;

/** A service has an address of its own, and custom domains. */
const MAX_ADDRESSES = 100;

interface NamedLink extends OwnLink {
  /** The file that names it. */
  name: string;
}

/** Some of the links that an input and files of earlier imports name, by their addresses: enough to find out whose they are. */
export class NamedLinks {
  readonly #samples = new Map<string, NamedLink[]>();

  add(name: string, link: OwnLink | undefined): void {
    if (link === undefined) return;
    const address = link.short_url.slice(0, link.short_url.lastIndexOf('/'));
    const samples = this.#samples.get(address);
    if (samples !== undefined && samples.length < SAMPLES) samples.push({ ...link, name });
    else if (samples === undefined && this.#samples.size < MAX_ADDRESSES)
      this.#samples.set(address, [{ ...link, name }]);
  }

  /** Those that are not on the host of the service itself. */
  notAt(baseUrl: string): NamedLink[] {
    const { origin } = new URL(baseUrl);
    return [...this.#samples].flatMap(([address, links]) => (address === origin ? [] : links));
  }

  /**
   * Asks the service whether it knows these links: those of a test service would keep their rows from being created. Throws an InputError
   * where it knows none of an address.
   */
  async refuseUnknown(baseUrl: string, { client, signal }: ImportDeps): Promise<void> {
    const links = this.notAt(baseUrl);
    // A spreadsheet takes some cells with codes for numbers.
    const codes = links.map(({ short_url }) => short_url.slice(short_url.lastIndexOf('/') + 1));
    const results = await client.links.lookup({ codes }, { signal });
    const known = new Set(links.filter((_, index) => (results[index]?.links.length ?? 0) > 0));
    for (const [address, [first, ...rest]] of this.#samples) {
      if (first === undefined || !links.includes(first)) continue;
      if ([first, ...rest].some((link) => known.has(link))) continue;
      throw inputError(
        `${first.name} names links at ${address}, such as ${first.short_url}, and ${baseUrl} knows none of them`,
        'Is the address of the service right (--base-url)? To create the links here too: move that file away if it has earlier results, and clear its code, short_url, status and error if it is the input.',
      );
    }
  }
}
