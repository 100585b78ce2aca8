import { parseCookie } from 'undici';

/** The cookies that one chain of redirects sets: some pages redirect until one comes back. A path that a cookie is for is not looked at. */
export class Cookies {
  readonly #kept = new Map<string, { host: string; pair: string }>();

  /** For the host of a response, or a domain that this is in. */
  keep(headers: Headers, { hostname }: URL): void {
    const cookies = headers.getSetCookie().flatMap((text) => parseCookie(text) ?? []);
    for (const { name, value, domain: host = hostname, ...cookie } of cookies) {
      if (!isWithin(hostname, host)) continue;
      const isOver =
        (cookie.maxAge ?? 1) <= 0 ||
        Number(cookie.expires ?? Number.POSITIVE_INFINITY) <= Date.now();
      if (isOver) this.#kept.delete(`${host} ${name}`);
      else this.#kept.set(`${host} ${name}`, { host, pair: `${name}=${value}` });
    }
  }

  /** As the header has them. */
  for({ hostname }: URL): string {
    const sent = [...this.#kept.values()].filter(({ host }) => isWithin(hostname, host));
    return sent.map(({ pair }) => pair).join('; ');
  }
}

function isWithin(hostname: string, domain: string): boolean {
  return hostname === domain || hostname.endsWith(`.${domain}`);
}
