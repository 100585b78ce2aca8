import type { RedirectType } from '@shortlink/sdk/wire';
import type { Context } from 'hono';
import { normalizeHost, type OwnHosts } from '../domain/hostnames.ts';
import { CODE_ALPHABET, CODE_LENGTH } from '../domain/ids.ts';
import { gone, notFound } from '../domain/problem.ts';
import { locationOf } from '../domain/targets.ts';
import type { Redirect } from '../store/store.ts';
import type { AppEnv, RouteDeps } from './context.ts';
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
 */
export function redirectFor(
  link: Redirect,
  host: string | undefined,
  ownHosts: OwnHosts,
): RedirectResponse {
  const isServedHere =
    link.hostname === null
      ? host === undefined || !ownHosts.isCustomDomain(host)
      : host === link.hostname;
  if (!isServedHere) return { status: 404 };
  if (!link.is_active) return { status: 410 };
  const Location = locationOf(link.target_url);
  const headers = { 'Cache-Control': CACHE_CONTROL, Location, 'Content-Length': '0' };
  return { status: link.redirect_type, headers };
}

/** `GET` and `HEAD /<code>`, an addition to the API. Most get their response from `fastRedirect`, before they come here. */
export function redirect(
  deps: Pick<RouteDeps, 'findRedirect' | 'ownHosts' | 'onClick' | 'metrics'>,
) {
  return async (c: Context<AppEnv, '/:code'>): Promise<Response> => {
    const code = c.req.param('code');
    setHeader(c, 'Cache-Control', CACHE_CONTROL);
    const link = CODE.test(code) ? await deps.findRedirect(code) : undefined;
    if (link === undefined) throw notFound('Short link');
    const host = normalizeHost(authorityOf(c.req.url));
    const { status, headers } = redirectFor(link, host, await deps.ownHosts());
    if (headers === undefined) throw status === 410 ? gone() : notFound('Short link');
    if (c.req.method !== 'HEAD') {
      deps.onClick(code);
      deps.metrics.countRedirect(status);
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
