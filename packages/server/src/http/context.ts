import type { Readable } from 'node:stream';
import { HEADERS } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import type { OwnHosts } from '../domain/hostnames.ts';
import type { JobPace } from '../domain/job-pace.ts';
import type { TargetHosts } from '../domain/targets.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Settings } from '../settings.ts';
import type { RedirectCache } from '../store/redirect-cache.ts';
import type { Caller, Store } from '../store/store.ts';

/** The connection a request came over; nothing of it is known when the app is called without a socket. */
export interface Connection {
  incoming?: { socket: { remoteAddress?: string | undefined; destroyed?: boolean } } | undefined;
  /** Node's stream of the request body, which is read instead of the one of the `Request`. The server's own listener sets it. */
  body?: Readable | undefined;
}

export interface AppEnv {
  Bindings: Connection;
  Variables: {
    requestId: string;
    /** Made by `observe`; {@link respond} puts them on. Filling and reading a `Headers` object, as Hono does, costs more than all the rest of a redirect. */
    responseHeaders: ResponseHeaders;
    caller?: Caller;
  };
}

export type CallerEnv = AppEnv & { Variables: { caller: Caller; identifiedAt?: number } };

/** What the app takes from the outside; its settings work as described there. */
export interface GivenOptions
  extends Partial<Pick<Settings, 'rootUrl' | 'notFoundUrl' | 'forwardQuery' | 'countPreviews'>>,
    Partial<Pick<Settings, 'metricsToken' | 'tlsAskToken'>> {
  store: Store;
  /** Origin of the default short domain, such as `https://sho.rt`: no link may point back at it. */
  publicUrl: string;
  /** Hosts that new links may and may not lead to. @default any host but the service's own */
  targetHosts?: TargetHosts | undefined;
  /** @default nothing is logged */
  logger?: Logger | undefined;
}

/** What the app is made of; `createService` puts it together. */
export interface AppOptions extends GivenOptions {
  metrics: Metrics;
  now: () => number;
  ownHosts: () => OwnHosts | Promise<OwnHosts>;
  /** `notify` is called for every accepted job that is not complete; `pendingJobs` are those that are not complete. */
  jobs: { notify: (jobId: string) => void; readonly pendingJobs: number };
  jobPace: JobPace;
  onClick: (code: string) => void;
  redirects: Pick<RedirectCache, 'find' | 'has'>;
  /** `true` makes `/readyz` respond with 503. */
  isDraining: () => boolean;
}

/** Headers by their names. A name is always written in the same way, so that a later value replaces an earlier one. */
export type ResponseHeaders = Record<string, string>;

/** What {@link respond} needs of a request's context. */
export interface HeaderContext {
  env?: Connection;
  get(name: 'responseHeaders'): ResponseHeaders;
}

export function respond(
  c: HeaderContext,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  status: number,
  headers?: Readonly<ResponseHeaders>,
): Response {
  const secured = body === null ? undefined : SECURITY_HEADERS;
  const all = { ...secured, ...c.get('responseHeaders'), ...headers };
  return new Response(body, { status, headers: all });
}

export function respondJson(
  c: HeaderContext,
  value: object,
  status = 200,
  headers?: Readonly<ResponseHeaders>,
): Response {
  c.get('responseHeaders')['Content-Type'] = 'application/json';
  return respond(c, JSON.stringify(value), status, headers);
}

/** Every response with a body has these: it is never sniffed, never framed, and loads nothing. The site of a redirect decides about the referrer. */
export const SECURITY_HEADERS: Readonly<ResponseHeaders> = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

/** Lets pages of any origin call the API with a key: the key is a header of its own, so no cookie is at stake. */
const CORS_HEADERS: Readonly<ResponseHeaders> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': [
    HEADERS.retryAfter,
    HEADERS.rateLimit,
    HEADERS.rateLimitPolicy,
    HEADERS.requestId,
    'Location',
  ].join(','),
};

const PREFLIGHT_HEADERS: Readonly<ResponseHeaders> = {
  ...CORS_HEADERS,
  'Access-Control-Allow-Methods': 'GET,HEAD,POST',
  'Access-Control-Allow-Headers': [HEADERS.apiKey, 'Content-Type', HEADERS.idempotencyKey].join(),
  // Chromium caps it at two hours.
  'Access-Control-Max-Age': '7200',
  Vary: 'Access-Control-Request-Headers',
};

/** API responses are private data: never stored by a cache. */
const API_HEADERS: Readonly<ResponseHeaders> = { ...CORS_HEADERS, 'Cache-Control': 'no-store' };

/** Responds to the preflight of a browser (Fetch standard, CORS protocol), and puts on other responses what they all have. */
export function apiHeaders() {
  return createMiddleware<AppEnv>(async (c, next) => {
    if (c.req.method === 'OPTIONS') return respond(c, null, 204, PREFLIGHT_HEADERS);
    Object.assign(c.get('responseHeaders'), API_HEADERS);
    return next();
  });
}
