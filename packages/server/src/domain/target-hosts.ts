import { canonicalHostname, normalizeHost } from './hostnames.ts';

/** Lists of hosts that the operator allows or denies as targets. Each name also stands for its subdomains. */
export interface TargetHosts {
  /** When it has any, links may lead to these only. */
  allow: readonly string[];
  /** Links may not lead to these, even if allowed. */
  deny: readonly string[];
}

export const EVERY_TARGET_HOST: TargetHosts = Object.freeze({ allow: [], deny: [] });

/** `true` for the host of a target that the operator's lists let through. */
export type IsAllowedHost = (url: URL) => boolean;

/** Checks hosts against the lists. `notexample.com` is no subdomain of `example.com`; ports play no part. */
export function targetHostMatcher({ allow, deny }: TargetHosts): IsAllowedHost {
  const allowed = new Set(allow);
  const denied = new Set(deny);
  return ({ hostname }) =>
    !isUnder(denied, hostname) && (allowed.size === 0 || isUnder(allowed, hostname));
}

/** Looks up the host, then each domain above it. */
function isUnder(domains: ReadonlySet<string>, hostname: string): boolean {
  let domain = canonicalHostname(hostname);
  for (;;) {
    if (domains.has(domain)) return true;
    const dot = domain.indexOf('.');
    if (dot === -1) return false;
    domain = domain.slice(dot + 1);
  }
}

/**
 * A list of hosts as an operator writes it, separated by commas or spaces, each normalised as a URL parser does it.
 *
 * @returns `undefined` when one of them is no plain host, such as one with a port or a scheme
 */
export function parseHostList(text: string): string[] | undefined {
  const hosts: string[] = [];
  for (const entry of text.split(/[\s,]+/).filter((part) => part !== '')) {
    const host = normalizeHost(entry);
    if (host === undefined || /[*]|:\d+$/.test(host)) return undefined;
    hosts.push(host);
  }
  return hosts;
}
