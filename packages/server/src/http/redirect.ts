import type { Context } from 'hono';
import { CODE_ALPHABET, CODE_LENGTH } from '../domain/codes.ts';
import { normalizeHost } from '../domain/hostnames.ts';
import { gone, notFound } from '../domain/problem.ts';
import { locationOf } from '../domain/targets.ts';
import type { AppEnv, RouteDeps } from './context.ts';
import { respond, setHeader } from './respond.ts';

/** Anything else can't be a code, and is not worth a look-up. */
const CODE = new RegExp(`^[${CODE_ALPHABET}]{${CODE_LENGTH}}$`);

/** Clicks stay countable only if every one reaches us: also a 301, and also the 404 and 410, which caches may keep too. */
const CACHE_CONTROL = 'private, max-age=0';

/**
 * `GET` and `HEAD /<code>`. A link of a custom domain is served on that host only; one of
 * the default domain on every other host, so that the service works behind proxies that rewrite `Host`.
 */
export function redirect(
  deps: Pick<RouteDeps, 'findRedirect' | 'ownHosts' | 'onClick' | 'metrics'>,
) {
  return async (c: Context<AppEnv, '/:code'>): Promise<Response> => {
    const code = c.req.param('code');
    setHeader(c, 'Cache-Control', CACHE_CONTROL);
    const link = CODE.test(code) ? await deps.findRedirect(code) : undefined;
    if (link === undefined || !(await isServedHere(deps, c.req.url, link.hostname))) {
      throw notFound('Short link');
    }
    if (!link.is_active) throw gone();
    if (c.req.method !== 'HEAD') {
      deps.onClick(code);
      deps.metrics.countRedirect(link.redirect_type);
    }
    return respond(c, null, link.redirect_type, {
      Location: locationOf(link.target_url),
      'Content-Length': '0',
    });
  };
}

async function isServedHere(
  deps: Pick<RouteDeps, 'ownHosts'>,
  url: string,
  hostname: string | null,
): Promise<boolean> {
  const host = normalizeHost(authorityOf(url));
  if (hostname !== null) return host === hostname;
  return host === undefined || !(await deps.ownHosts()).isCustomDomain(host);
}

/** `host:port` of an absolute URL, cut out rather than parsed: this runs on every redirect. */
function authorityOf(url: string): string {
  const start = url.indexOf('://') + 3;
  const end = url.indexOf('/', start);
  return url.slice(start, end === -1 ? undefined : end);
}
