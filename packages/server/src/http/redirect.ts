import type { RedirectType } from '@shortlink/sdk/wire';
import type { Context } from 'hono';
import { normalizeHost, type OwnHosts } from '../domain/hostnames.ts';
import { CODE_ALPHABET, CODE_LENGTH } from '../domain/ids.ts';
import { gone, notFound } from '../domain/problem.ts';
import { locationOf, withQuery } from '../domain/targets.ts';
import type { Redirect } from '../store/store.ts';
import type { AppEnv, RouteDeps } from './context.ts';
import { isPreview } from './previews.ts';
import { type ResponseHeaders, respond, setHeader } from './respond.ts';

/** The pattern of the route, also in metrics. */
export const REDIRECT_ROUTE = '/:code';

/** Anything else can't be a code, and is not worth a look-up. */
const CODE = new RegExp(`^[${CODE_ALPHABET}]{${CODE_LENGTH}}$`);

/** Every click must reach us, to be counted: caches may keep a 301, a 404 and a 410 too. */
const CACHE_CONTROL = 'private, max-age=0';

/** What a request for a short link gets: where it leads, or that there is no such link on this host, or none any more. */
export type RedirectResponse =
  | { status: RedirectType; headers: ResponseHeaders }
  | { status: 404 | 410; headers?: undefined };

/**
 * A link of a custom domain is served on that host only; one of the default domain on every other host, since proxies may rewrite `Host`.
 *
 * @param host normalised; `undefined` when the request names none
 * @param query of the request, to be added to that of the target
 */
export function redirectFor(
  link: Redirect,
  host: string | undefined,
  ownHosts: OwnHosts,
  query = '',
): RedirectResponse {
  const isServedHere =
    link.hostname === null
      ? host === undefined || !ownHosts.isCustomDomain(host)
      : host === link.hostname;
  if (!isServedHere) return { status: 404 };
  if (!link.is_active) return { status: 410 };
  const location = locationOf(link.target_url);
  const Location = query === '' ? location : withQuery(location, query);
  const headers = { 'Cache-Control': CACHE_CONTROL, Location, 'Content-Length': '0' };
  return { status: link.redirect_type, headers };
}

/** What an operator decides about redirects. */
export interface RedirectRules {
  /** Whether the query of a short URL is added to that of the target, whose own parameters win. @default false */
  forwardQuery?: boolean | undefined;
  /** Whether prefetches and previews are counted as clicks. @default false */
  countPreviews?: boolean | undefined;
}

/** The query of a request without its `?`. */
export function queryOf(url: string): string {
  const start = url.indexOf('?') + 1;
  return start === 0 ? '' : url.slice(start).replace(/#.*$/s, '');
}

/** `GET` and `HEAD /<code>`, an addition to the API. Most get their response from `fastRedirect`, before they come here. */
export function redirect(
  deps: Pick<RouteDeps, 'findRedirect' | 'ownHosts' | 'onClick' | 'metrics'> & RedirectRules,
) {
  const { forwardQuery = false, countPreviews = false, metrics } = deps;
  return async (c: Context<AppEnv, '/:code'>): Promise<Response> => {
    const code = c.req.param('code');
    setHeader(c, 'Cache-Control', CACHE_CONTROL);
    const link = CODE.test(code) ? await deps.findRedirect(code) : undefined;
    if (link === undefined) throw notFound('Short link');
    const host = normalizeHost(authorityOf(c.req.url));
    const query = forwardQuery ? queryOf(c.req.url) : '';
    const { status, headers } = redirectFor(link, host, await deps.ownHosts(), query);
    if (headers === undefined) throw status === 410 ? gone() : notFound('Short link');
    const isPreviewed = !countPreviews && isPreview((name) => c.req.header(name));
    if (c.req.method !== 'HEAD') {
      if (!isPreviewed) deps.onClick(code);
      metrics.countRedirect(status, isPreviewed);
    }
    return respond(c, null, status, headers);
  };
}

/** `host:port` of an absolute URL, cut out rather than parsed: this runs on every redirect. */
function authorityOf(url: string): string {
  const start = url.indexOf('://') + 3;
  const end = url.indexOf('/', start);
  return url.slice(start, end === -1 ? undefined : end);
}
