import { once } from 'node:events';
import { createServer, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { Connections } from './http/connections.ts';
import type { Connection } from './http/context.ts';
import type { RedirectNow } from './http/fast-redirect.ts';
import { hostProblem, invalidTarget, respondToClientError, sendError } from './http/outside-app.ts';
import { httpOrigin } from './settings.ts';

/** How long requests in flight may take to end once the server begins to stop. */
const DRAIN_TIMEOUT_MS = 10_000;

/** What node's server waits for, in milliseconds. */
const TIMEOUTS = {
  /** How long the headers of a request may take. Slower clients get 408. */
  headersTimeout: 20_000,
  /** How long all of a request may take: 16 MiB at 140 KiB/s. */
  requestTimeout: 120_000,
  /** How often node looks for requests that are too slow. Its default is 30 s. */
  connectionsCheckingInterval: 5_000,
  /** Longer than the idle timeout of common proxies, so that they never reuse a connection we are closing. */
  keepAliveTimeout: 75_000,
};

/** Each may hold 16 requests, about 100 KB. More connections than this are closed as they come. */
const MAX_CONNECTIONS = 10_000;

/** Gives the response to one request; the `fetch` of an app is one. */
export type Fetch = (request: Request, node: NodeBindings) => Response | Promise<Response>;

/** The connection under a request: where it comes from, its body, and a way for a test server to cut it. */
export interface NodeBindings extends Connection {
  incoming: { socket: { remoteAddress?: string | undefined; destroy: () => unknown } };
}

export interface ListenOptions {
  /** Replaces the global `Request` and `Response` by faster ones. @default true */
  overrideGlobalObjects?: boolean | undefined;
  /** Receives the status of each response to a request that `fetch` never sees. @default nothing is called */
  onRefused?: ((status: number) => void) | undefined;
  /** How long a connection with a request in flight may do nothing, such as not read its response, in milliseconds. @default 60_000 */
  stalledTimeoutMs?: number | undefined;
  /** Replaces some of {@link TIMEOUTS}. @default none */
  timeouts?: Pick<ServerOptions, keyof typeof TIMEOUTS> | undefined;
}

/**
 * Listens on node's HTTP server, on a free port for 0; `respondWith` comes later, because the default public URL contains the port.
 * @throws the system's error when the address can't be had, such as `EADDRINUSE`
 */
export async function listen(host: string, port: number, options: ListenOptions = {}) {
  const { overrideGlobalObjects = true, onRefused = () => undefined } = options;
  const { promise: provided, resolve: provide } = Promise.withResolvers<Fetch>();
  let redirectNow: RedirectNow = () => false;
  let fetch: Fetch = async (request, node) => (await provided)(request, node);
  // Whether there is a `Host` is checked here, because node's own response has neither a body nor a request id.
  const server = createServer({ ...TIMEOUTS, ...options.timeouts, requireHostHeader: false });
  server.timeout = options.stalledTimeoutMs ?? 60_000;
  server.maxConnections = MAX_CONNECTIONS;
  const connections = new Connections(server);
  const errorHandler = (error: unknown) => {
    if (!(error instanceof RequestError)) throw error;
    onRefused(400);
    return invalidTarget();
  };
  const respond = getRequestListener(
    (request, { incoming }) => fetch(request, { incoming, body: incoming }),
    // HTTP/1.0 needs no `Host`; health checks of old balancers send none.
    { errorHandler, hostname: 'localhost', overrideGlobalObjects },
  );
  const refuse = (outgoing: ServerResponse, status: number, message: string) => {
    sendError(outgoing, status, message);
    onRefused(status);
  };
  server.on('request', (incoming, outgoing) => {
    if (!connections.begin(incoming, outgoing)) return;
    const problem = hostProblem(incoming);
    if (problem !== undefined) refuse(outgoing, 400, problem);
    else if (!redirectNow(incoming, outgoing)) void respond(incoming, outgoing);
  });
  server.on('checkExpectation', (incoming, outgoing) => {
    if (!connections.begin(incoming, outgoing)) return;
    refuse(outgoing, 417, 'Only "Expect: 100-continue" is supported.');
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!connections.canRespond(socket)) socket.destroy();
    else onRefused(respondToClientError(socket, error.code));
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    url: httpOrigin(host, portOf(server)),
    /** Sets what responds; until then requests wait. What `redirectNow` leaves alone goes to `fetch`. */
    respondWith: (handler: Fetch, fast?: RedirectNow) => {
      if (fast !== undefined) redirectNow = fast;
      fetch = handler;
      provide(handler);
    },
    /** From now on every response closes its connection, while new connections are still accepted. */
    drain: () => connections.drain(),
    /** Accepts nothing new, lets the requests in flight end, and those that are on their way, then closes every connection. `drainTimeoutMs` bounds all of this. */
    close: async ({ drainTimeoutMs = DRAIN_TIMEOUT_MS } = {}) => {
      const closed = once(server, 'close');
      connections.drain();
      // The HTTP server's own `close` would also cut idle connections, and with them requests that are on their way. In Bun it is no server of connections.
      (server instanceof NetServer ? NetServer.prototype : server).close.call(server);
      const sweep = setInterval(() => connections.closeUnused(), 50);
      const giveUp = setTimeout(() => connections.destroyAll(), drainTimeoutMs);
      // A test may have replaced the timers.
      if (drainTimeoutMs === 0) connections.destroyAll();
      await closed.finally(() => {
        clearInterval(sweep);
        clearTimeout(giveUp);
        // Nothing is open any more; this ends the timer by which it looks for slow requests.
        server.close();
      });
    },
  };
}

export function portOf(server: Pick<Server, 'address'>): number {
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}
