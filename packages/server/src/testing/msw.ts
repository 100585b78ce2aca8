/**
 * The Shortlink service as handlers of Mock Service Worker (`msw`, a peer dependency), for tests without a socket.
 *
 * @packageDocumentation
 */
import { type HttpHandler, HttpResponse, http } from 'msw';
import { openSqliteStore } from '../store/sqlite/index.ts';
import { startTestService, type TestServiceOptions, type TestSubject } from './test-service.ts';

export type { TestServiceOptions };

/** Options of {@link createMswHandlers}. */
export interface MswHandlersOptions extends TestServiceOptions {
  /** Origin that the handlers stand in for. @default 'https://shortlink.test' */
  baseUrl?: string | undefined;
}

/** The service behind the handlers. A `drop` among its faults is a network error here. */
export interface MswHandlers extends TestSubject {
  /** For `setupServer(...handlers)` or `worker.use(...handlers)`: all paths of the base address. */
  handlers: HttpHandler[];
}

/**
 * Responds to requests with the service itself, the same that `startTestServer` serves, so that a mock can't differ from it.
 *
 * @example
 * ```ts
 * await using service = await createMswHandlers({ plan: 'community' });
 * const network = setupServer(...service.handlers);
 * network.listen();
 * const shortlink = new Shortlink({ apiKey: service.apiKey, baseUrl: service.url });
 * ```
 */
export async function createMswHandlers(options: MswHandlersOptions = {}): Promise<MswHandlers> {
  const { baseUrl = 'https://shortlink.test', ...others } = options;
  const url = new URL(baseUrl).origin;
  const store = await openSqliteStore({ path: ':memory:', publicUrl: url });
  const { subject, fetch } = await startTestService(store, url, others);
  const handler = http.all(`${url}/*`, ({ request }) =>
    fetch(request).catch(() => HttpResponse.error()),
  );
  return { handlers: [handler], ...subject };
}
