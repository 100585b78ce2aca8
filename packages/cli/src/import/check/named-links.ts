import type { RequestOptions } from '@shortlink/sdk';
import { inputError } from '@shortlink/tables/basics';
import type { OwnLink } from '../map/result-columns.ts';
import type { ImportDeps } from '../types.ts';

/** Links of one address that are asked for, since some may be gone. */
const SAMPLES = 20;

/** A service has an address of its own, and custom domains. */
const MAX_ADDRESSES = 100;

export interface NamedLink {
  /** The file that names it. */
  name: string;
  short_url: string;
}

/** Some of the links that files name, by their addresses: enough to find out whose they are. */
export class NamedLinks {
  readonly #samples = new Map<string, NamedLink[]>();

  add(name: string, link: OwnLink | undefined): void {
    if (link === undefined) return;
    const address = addressOf(link.short_url);
    const samples = this.#samples.get(address) ?? [];
    // The first ones stay, and the last one makes room for another: a file may begin with old links.
    if (samples.length === SAMPLES) samples.pop();
    samples.push({ name, short_url: link.short_url });
    if (this.#samples.size < MAX_ADDRESSES) this.#samples.set(address, samples);
  }

  /** One list for each address. At that of the service itself, a file may name old links beside others that it knows, so this list has all of them. */
  samplesFor(baseUrl: string): readonly (readonly NamedLink[])[] {
    const { origin } = new URL(baseUrl);
    const lists = [...this.#samples];
    return lists.map(([address, links]) =>
      address === origin ? links.concat(...lists.map(([, others]) => others)) : links,
    );
  }
}

const addressOf = (url: string) => url.slice(0, url.lastIndexOf('/'));

/**
 * Asks the service whether it knows these links: those of a test service, of another account, or of a database that was there before would keep
 * their rows from being created. Throws an InputError where it knows none of a list.
 */
export async function refuseUnknown(
  lists: readonly (readonly NamedLink[])[],
  baseUrl: string,
  { client, signal }: ImportDeps,
  options: RequestOptions,
): Promise<void> {
  const links = lists.flat();
  if (links.length === 0) return;
  // A spreadsheet takes some cells with codes for numbers.
  const codes = links.map(({ short_url }) => short_url.slice(short_url.lastIndexOf('/') + 1));
  const results = await client.links.lookup({ codes }, { signal, ...options });
  const known = new Set(links.filter((_, index) => (results[index]?.links.length ?? 0) > 0));
  for (const [first, ...others] of lists) {
    if (first === undefined || [first, ...others].some((link) => known.has(link))) continue;
    throw inputError(
      `${first.name} names links at ${addressOf(first.short_url)}, such as ${first.short_url}, and ${baseUrl} knows none of them`,
      'Was its database replaced? Is its address right (--base-url), and the key that of their account? To create the links here too: --restart, without --known, and without code, short_url, status and error where the input itself has them.',
    );
  }
}
