import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { httpOrigin } from './config.ts';
import type { RedirectNow } from './http/fast-redirect.ts';

/** How long requests in flight may take to end once the server is told to stop. */
const DRAIN_TIMEOUT_MS = 10_000;

/** A request's headers must be here this fast, and all of it this fast: 16 MiB at 140 KiB/s. Slower clients get 408. */
const HEADERS_TIMEOUT_MS = 20_000;
const REQUEST_TIMEOUT_MS = 120_000;

/** Longer than the idle timeout of common proxies, so that they never reuse a connection we are closing. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

/** Answers one request; the `fetch` of an app is one. */
export type Fetch = (request: Request, node: NodeBindings) => Response | Promise<Response>;

/** The connection under a request: where it comes from, and a way for a test server to cut it. */
export interface NodeBindings {
  incoming: { socket: { remoteAddress?: string | undefined; destroy: () => unknown } };
}

export interface ListenOptions {
  /** Replaces the global `Request` and `Response` by lighter ones: faster answers. @default true */
  overrideGlobalObjects?: boolean | undefined;
}

export interface Listener {
  /** `http://host:port` that it listens on. */
  url: string;
  /** Sets what answers; until then requests wait. What `redirectNow` doesn't answer goes to `fetch`. */
  answerWith: (fetch: Fetch, redirectNow?: RedirectNow) => void;
  /**
   * Accepts nothing new, lets the requests in flight end, then closes every connection.
   *
   * @param options `drainTimeoutMs`: how long the requests in flight may take, in milliseconds. Default 10,000.
   */
  close: (options?: { drainTimeoutMs?: number }) => Promise<void>;
}

/**
 * Listens on node's HTTP server. The port is taken before anything else is started, because the default public URL
 * contains it; that is why `answerWith` comes later.
 *
 * @param port `0` picks a free one
 * @throws the system's error when the address can't be had, such as `EADDRINUSE`
 */
export async function listen(
  host: string,
  port: number,
  { overrideGlobalObjects = true }: ListenOptions = {},
): Promise<Listener> {
  let provide: (fetch: Fetch) => void = () => undefined;
  const provided = new Promise<Fetch>((resolve) => {
    provide = resolve;
  });
  let redirectNow: RedirectNow = () => false;
  let fetch: Fetch = async (request, node) => (await provided)(request, node);
  const answerByFetch = getRequestListener((request, node) => fetch(request, node), {
    errorHandler: answerUnroutable,
    overrideGlobalObjects,
  });
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      if (!redirectNow(request, response)) answerByFetch(request, response);
    },
  );
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
  server.listen(port, host);
  await once(server, 'listening');
  return {
    url: httpOrigin(host, portOf(server)),
    answerWith: (answer, fast) => {
      if (fast !== undefined) redirectNow = fast;
      fetch = answer;
      provide(answer);
    },
    close: ({ drainTimeoutMs = DRAIN_TIMEOUT_MS } = {}) => drain(server, drainTimeoutMs),
  };
}

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** The request target or `Host` makes no URL, so the app can't be asked (RFC 9112 section 3.2). */
function answerUnroutable(error: unknown): Response {
  if (!(error instanceof RequestError)) throw error;
  const body = { error: 'The request target or Host header is invalid.', code: 'invalid_request' };
  return Response.json(body, { status: 400 });
}

async function drain(server: Server, timeoutMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // Connections that were busy when the server closed stay open after their answer; they are let go here.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const giveUp = setTimeout(() => server.closeAllConnections(), timeoutMs);
  try {
    await closed;
  } finally {
    clearInterval(sweep);
    clearTimeout(giveUp);
  }
}
