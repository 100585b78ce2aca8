import { hash, timingSafeEqual } from 'node:crypto';
import type { Context } from 'hono';
import { normalizeHost, withoutPort } from '../domain/hostnames.ts';
import { notFound, Problem } from '../domain/problem.ts';
import { type AppEnv, type AppOptions, respond, respondJson } from './context.ts';

const NOT_STORED = { 'Cache-Control': 'no-store' } as const;

/** `GET /healthz`: the process responds. */
export function health(c: Context<AppEnv>): Response {
  return respondJson(c, { status: 'ok' }, 200, NOT_STORED);
}

/** `GET /readyz`: 503 while the process stops. While the database is away, known links are still redirected, so its state is in the body only. */
export function readiness(deps: AppOptions) {
  return (c: Context<AppEnv>): Response => {
    if (deps.isDraining()) {
      const body = { error: 'Not ready: shutting down.', code: 'unavailable' };
      return respondJson(c, body, 503, NOT_STORED);
    }
    const database = deps.store.isHealthy() ? 'up' : 'down';
    return respondJson(c, { status: 'ok', database }, 200, NOT_STORED);
  };
}

const FORWARDING_HEADERS = ['Forwarded', 'X-Forwarded-For', 'X-Real-IP', 'Via'];

export function metricsRoute({ metrics, metricsToken }: AppOptions) {
  return async (c: Context<AppEnv>): Promise<Response> => {
    const given = /^Bearer (.+)$/i.exec(c.req.header('Authorization') ?? '')?.[1];
    refuseOthers(c, 'Metrics are for the operator of the service.', metricsToken, given);
    const headers = { ...NOT_STORED, 'Content-Type': metrics.contentType };
    return respond(c, await metrics.text(), 200, headers);
  };
}

/** @throws Problem for everybody but the operator */
function refuseOthers(c: Context<AppEnv>, words: string, token: string | undefined, given = '') {
  const isSame = () => timingSafeEqual(sha256(given), sha256(token ?? ''));
  if (token === undefined ? isFromThisMachine(c) : isSame()) return;
  throw new Problem(403, 'forbidden', words);
}

/** Whether it came directly from this machine, under a name that only this machine has. A proxy forwards requests of everyone. */
function isFromThisMachine(c: Context<AppEnv>): boolean {
  const address = c.env?.incoming?.socket.remoteAddress;
  if (address === undefined || !/^(?:::ffff:)?127\.|^::1$/.test(address)) return false;
  // A page in a browser on this machine can reach it under a name of its own, whose address it changes to this one.
  if (!/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(c.req.url).hostname)) return false;
  return FORWARDING_HEADERS.every((name) => c.req.header(name) === undefined);
}

const sha256 = (text: string) => hash('sha256', text, 'buffer');

/** Path of the question, for proxies that get certificates on demand. */
export const TLS_ASK_PATH = '/internal/tls-check';

/** Whether a host is served, on any port. The token is in the query, since Caddy can send no header: strangers must not learn which customers there are. */
export function tlsAsk(deps: AppOptions) {
  return async (c: Context<AppEnv>): Promise<Response> => {
    const words = 'This is for the proxy in front of the service.';
    refuseOthers(c, words, deps.tlsAskToken, c.req.query('token'));
    const host = normalizeHost(c.req.query('domain') ?? '') ?? '';
    const { hosts } = await deps.ownHosts();
    const isServed = hosts.some((own) => withoutPort(own) === withoutPort(host));
    if (!isServed) throw notFound('Domain');
    return health(c);
  };
}
