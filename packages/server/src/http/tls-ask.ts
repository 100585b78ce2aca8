import { timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import { normalizeHost } from '../domain/hostnames.ts';
import { notFound, Problem } from '../domain/problem.ts';
import type { AppEnv, RouteDeps } from './context.ts';
import { isFromThisMachine, sha256 } from './health-and-metrics.ts';
import { respondJson } from './respond.ts';

/** Path of the question, for proxies that get certificates on demand. */
export const TLS_ASK_PATH = '/internal/tls-check';

export interface TlsAskOptions {
  /** Origin of the default short domain. */
  publicUrl: string;
  /** @default only direct connections from the same machine are answered */
  token: string | undefined;
}

/**
 * `GET /internal/tls-check?domain=<host>`: 200 when the service serves this host, 404 when it doesn't. It is what Caddy's
 * `on_demand_tls` asks before it gets a certificate, so that nobody can make it get one for any other name. With a token
 * (`&token=`, since Caddy can't send a header) from anywhere; else from this machine only, so that nobody can ask which
 * customers the service has. The list of domains is the one in memory, so that an answer costs no query.
 */
export function tlsAsk(deps: Pick<RouteDeps, 'ownHosts'>, { publicUrl, token }: TlsAskOptions) {
  const { hostname: publicHostname } = new URL(publicUrl);
  return async (c: Context<AppEnv>): Promise<Response> => {
    if (!(token === undefined ? isFromThisMachine(c) : isSecret(token, c.req.query('token')))) {
      throw new Problem(403, 'forbidden', 'This is for the proxy in front of the service.');
    }
    const host = normalizeHost(c.req.query('domain') ?? '');
    const isServed =
      host !== undefined &&
      (host === normalizeHost(publicHostname) || (await deps.ownHosts()).isCustomDomain(host));
    if (!isServed) throw notFound('Domain');
    return respondJson(c, { status: 'ok' }, 200, { 'Cache-Control': 'no-store' });
  };
}

function isSecret(secret: string, given: string | undefined): boolean {
  return given !== undefined && timingSafeEqual(sha256(given), sha256(secret));
}
