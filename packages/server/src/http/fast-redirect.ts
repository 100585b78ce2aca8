import type { IncomingMessage, ServerResponse } from 'node:http';
import { HEADERS } from '@shortlink/sdk/wire';
import { normalizeHost, type OwnHosts } from '../domain/hostnames.ts';
import { CODE_LENGTH } from '../domain/ids.ts';
import type { RedirectCache } from '../store/redirect-cache.ts';
import type { AppOptions } from './context.ts';
import { requestIdOf } from './observe.ts';
import { isPreview, partsOf, REDIRECT_ROUTE, redirectFor } from './redirect.ts';

/** Responds to a request that names at most one host and returns `true`, or leaves it alone and returns `false`. */
export type RedirectNow = (request: IncomingMessage, response: ServerResponse) => boolean;

interface FastRedirectDeps extends AppOptions {
  redirects: RedirectCache;
  /** `undefined` while they are not known: nobody could wait for them. */
  knownOwnHosts: () => OwnHosts | undefined;
}

/** `/` and a code, perhaps with a query. An unusual spelling, such as percent-encoding, is for the app to understand. */
const PATH = new RegExp(`^/[0-9A-Za-z]{${CODE_LENGTH}}(?:\\?|$)`);

/** A query that a URL parser leaves as it is. */
const PLAIN_QUERY = /^[\x21\x24-\x26\x28-\x3b\x3d\x3f-\x7e]*$/;

const HOST = /^[a-z0-9.-]+(?::\d{1,5})?$/;

/** Different hosts whose spelling is remembered; anybody can invent new ones. */
const MAX_HOSTS = 1_000;

/** Responds to a `GET` of an active link in memory, in a fraction of the time that the app takes. Both write what {@link redirectFor} says. */
export function fastRedirect(deps: FastRedirectDeps): RedirectNow {
  const { redirects, knownOwnHosts, onClick, isDraining, metrics, logger } = deps;
  const { forwardQuery = false, countPreviews = false } = deps;
  const hosts = new Map<string, string>();
  const isLogged = logger?.isLevelEnabled('debug') === true;

  /** Normalising parses a URL, and a service has few hosts. `undefined` for one that the app has to understand. */
  function hostOf(header = ''): string | undefined {
    const known = hosts.get(header);
    if (known !== undefined || !HOST.test(header)) return known;
    const host = normalizeHost(header);
    if (host === undefined) return undefined;
    if (hosts.size === MAX_HOSTS) hosts.clear();
    hosts.set(header, host);
    return host;
  }

  /** Redirects of this turn of the event loop and of the last one, and the responses of this turn that are not sent yet. */
  let count = 0;
  let lastCount = 0;
  const unsent: ServerResponse[] = [];

  /** Waking the reader costs as much as the rest of a redirect. Where many come at once, those of a turn are sent together; a single one never waits. */
  function send(response: ServerResponse): void {
    if (lastCount > 1) unsent.push(response);
    else response.end();
    count += 1;
    if (count === 1) setImmediate(endTurn);
  }

  function endTurn(): void {
    lastCount = count;
    count = 0;
    for (const response of unsent.splice(0)) response.end();
  }

  function redirectFromMemory(request: IncomingMessage, response: ServerResponse): boolean {
    const startedAt = performance.now();
    const { method, url = '', headers: given } = request;
    if (isLogged || method !== 'GET' || !PATH.test(url)) return false;
    const code = url.slice(1, 1 + CODE_LENGTH);
    const link = redirects.get(code, startedAt);
    const host = hostOf(given.host);
    const own = knownOwnHosts();
    if (link === undefined || host === undefined || own === undefined) return false;
    const hasBody = 'content-length' in given || 'transfer-encoding' in given;
    // The app closes the connection, reads the body, or looks up what the domain had.
    if (isDraining() || hasBody || own.isRemoved(host)) return false;
    const query = forwardQuery ? partsOf(url)[2] : '';
    if (!PLAIN_QUERY.test(query)) return false;
    const { status, headers } = redirectFor(link, host, own, query);
    if (headers === undefined) return false;

    headers[HEADERS.requestId] = requestIdOf(given[REQUEST_ID]?.toString());
    response.writeHead(status, headers);
    send(response);
    const isPreviewed = !countPreviews && isPreview((name) => given[name]);
    if (!isPreviewed) onClick(code);
    metrics.countRedirect(status, isPreviewed);
    const seconds = (performance.now() - startedAt) / 1_000;
    metrics.countRequest({ route: REDIRECT_ROUTE, method: 'GET', status, seconds });
    return true;
  }

  return (request, response) => {
    try {
      return redirectFromMemory(request, response);
    } catch (error) {
      // What is thrown in a listener of node's server ends the process. The app makes a 500 of the same failure.
      logger?.error({ err: error }, 'redirect from memory failed');
      return response.headersSent;
    }
  };
}

const REQUEST_ID = HEADERS.requestId.toLowerCase();
