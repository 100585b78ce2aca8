import type { Context } from 'hono';
import { aliasAddress } from '../domain/aliases.ts';
import { normalizeHost, type OwnHosts } from '../domain/hostnames.ts';
import { CODE } from '../domain/ids.ts';
import { gone, notFound } from '../domain/problem.ts';
import { locationOf, withQuery } from '../domain/targets.ts';
import type { Redirect } from '../store/store.ts';
import { type AppEnv, type AppOptions, type ResponseHeaders, respond } from './context.ts';

/** The pattern of the route, also in metrics. */
export const REDIRECT_ROUTE = '/:code';

/** Every click must reach us, to be counted: caches may keep a 301, a 404 and a 410 too. */
const CACHE_CONTROL = 'private, max-age=0';

/**
 * What a request for a link gets; without headers, it is 404 on this host, or 410. A link of a custom domain is served there only; others on every
 * other host, since proxies may rewrite `Host`. The query is added to the target's.
 */
export function redirectFor(
  { hostname, is_active, redirect_type, target_url }: Redirect,
  host: string,
  ownHosts: OwnHosts,
  query: string,
): { status: number; headers?: ResponseHeaders } {
  const isServedHere = hostname === null ? !ownHosts.isCustomDomain(host) : host === hostname;
  if (!isServedHere) return { status: 404 };
  if (!is_active) return { status: 410 };
  const location = locationOf(target_url);
  const Location = query === '' ? location : withQuery(location, query);
  const headers = { 'Cache-Control': CACHE_CONTROL, Location, 'Content-Length': '0' };
  return { status: redirect_type, headers };
}

/** Authority, path and query of a URL, or of one without its host. It is cut rather than parsed: this runs on every redirect. */
const URL_PARTS = /^(?:[^:/?#]+:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?/;

export function partsOf(url: string): [authority: string, path: string, query: string] {
  const [, authority = '', path = '', query = ''] = URL_PARTS.exec(url) ?? [];
  return [authority, path, query];
}

/**
 * `GET` and `HEAD` of a code, an addition to the API, or of a path that nothing else responds to. Either may be an alias. `undefined`: the path, which
 * is no code, leads nowhere. Most links get their response from `fastRedirect`, before they come here.
 */
export function redirect(deps: AppOptions) {
  const { forwardQuery = false, countPreviews = false, redirects, metrics } = deps;
  return async (c: Context<AppEnv>): Promise<Response | undefined> => {
    const { method, url } = c.req;
    if (method !== 'GET' && method !== 'HEAD') return undefined;
    // Responses of the API are not stored at all.
    c.get('responseHeaders')['Cache-Control'] ??= CACHE_CONTROL;
    const ownHosts = await deps.ownHosts();
    const [authority, path, query] = partsOf(url);
    const host = normalizeHost(authority) ?? '';
    const aliasOn = (hostname: string | null) => aliasAddress(hostname, path) ?? '';
    const code = c.req.param('code');
    const addresses = [aliasOn(ownHosts.isCustomDomain(host) ? host : null)];
    if (code !== undefined && CODE.test(code)) addresses.unshift(code);
    if (ownHosts.isBoth(host)) addresses.push(aliasOn(host));
    // One in memory comes first: while the database is away, nobody waits for the others.
    addresses.sort((a, b) => Number(redirects.has(b)) - Number(redirects.has(a)));
    // What a domain had before it was removed is gone, whatever the default domain has at the same path.
    if (ownHosts.isRemoved(host)) addresses.unshift(aliasOn(host));
    for (const address of addresses) {
      const link = address === '' ? undefined : await redirects.find(address);
      if (link === undefined) continue;
      const { status, headers } = redirectFor(link, host, ownHosts, forwardQuery ? query : '');
      if (status === 404) continue;
      if (headers === undefined) throw gone();
      if (method !== 'HEAD') {
        const isPreviewed = !countPreviews && isPreview((name) => c.req.header(name));
        if (!isPreviewed) deps.onClick(link.code ?? address);
        metrics.countRedirect(status, isPreviewed);
      }
      return respond(c, null, status, headers);
    }
    if (code !== undefined) throw notFound('Short link');
    return undefined;
  };
}

/** What browsers send with a page that they load before anybody asks for it (https://wicg.github.io/nav-speculation/prefetch.html), or show as a thumbnail. */
const PURPOSES = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const;
const AHEAD = /prefetch|preview/i;

/** Programs that show what a link leads to: no search engines or browsers in apps. With its own case: ignoring it takes half as long again, on every redirect. */
const AGENTS =
  /facebookexternalhit|Facebot|Slackbot|Slack-ImgProxy|Twitterbot|LinkedInBot|Discordbot|TelegramBot|^WhatsApp\/|SkypeUriPreview|MicrosoftPreview|redditbot|Pinterestbot|Mastodon\/|Bluesky Cardyb|Mattermost-Bot|Viber\/|Snap URL Preview|vkShare|Iframely|Embedly/;

/** Whether a request fetches a link that nobody has followed, or not yet: a prefetch of a browser, or the preview of a chat or social program. */
export function isPreview(header: (name: string) => string | string[] | undefined): boolean {
  for (const name of PURPOSES) {
    const purpose = header(name);
    if (purpose !== undefined && AHEAD.test(String(purpose))) return true;
  }
  const agent = header('user-agent');
  return agent !== undefined && AGENTS.test(String(agent));
}
