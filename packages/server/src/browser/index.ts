/**
 * The whole Shortlink service in a page or a worker, on SQLite as WebAssembly: for tests in a browser, stories and documentation, without a server.
 *
 * @packageDocumentation
 */

import { inlineStore } from '../store/sqlite/sqlite-store.ts';
import type { TestServiceOptions, TestSubject } from '../testing/test-service.ts';
import { startTestService } from '../testing/test-service.ts';
import { openDatabase, type Wasm } from './sqlite.ts';

export { type Fault, type FaultRule, FaultScript } from '../testing/faults.ts';
export type { TestServiceOptions, TestSubject, Wasm };

/** Options of {@link startPageService}. */
export interface PageServiceOptions extends TestServiceOptions {
  /** Origin that the service stands for. @default 'https://shortlink.test' */
  baseUrl?: string | undefined;
  /**
   * Name of a database that stays in the browser's private file system (OPFS). All of it is written after each request that changed it; clicks
   * are with the next request or `close()`. One page at a time can have it open. Its links stay; there is a new key at each start. Not in
   * Node, Bun, Deno and Cloudflare Workers.
   * @default in memory, gone with the page
   */
  database?: string | undefined;
  /**
   * The content of `@shortlink/server/browser/sqlite3.wasm`, compiled or in bytes, where it can't be read from beside this module. Cloudflare
   * Workers give the compiled module when it is imported. @default read from beside this module
   */
  wasm?: Wasm | undefined;
}

/** What {@link PageService.handlers} needs of Mock Service Worker, whichever its version. */
export interface MswHttp<Handler> {
  all: (path: string, resolver: (info: { request: Request }) => Promise<Response>) => Handler;
}

/** A service in this page. */
export interface PageService extends TestSubject {
  /** Responds to requests of `url`, for the client's option `fetch`; it follows no redirect. What is for another address goes to the network. */
  fetch: (input: Request | string | URL, init?: RequestInit) => Promise<Response>;
  /** For `setupWorker(...service.handlers(http))`, with the `http` of `msw`: all paths of the base address. */
  handlers: <Handler>(http: MswHttp<Handler>) => Handler[];
  /** The service's clock. `advance` moves it forward, such as over the end of a window. */
  clock: { now: () => number; advance: (ms: number) => void };
}

/**
 * Starts the service of `@shortlink/server`, with one account and key.
 *
 * @example
 * ```ts
 * const service = await startPageService({ plan: 'pro' });
 * const shortlink = new Shortlink({
 *   apiKey: service.apiKey,
 *   baseUrl: service.url,
 *   fetch: service.fetch,
 * });
 * await service.close();
 * ```
 */
export async function startPageService(options: PageServiceOptions = {}): Promise<PageService> {
  const { baseUrl = 'https://shortlink.test', now = Date.now, database, wasm, ...rest } = options;
  const url = new URL(baseUrl).origin;
  let advancedMs = 0;
  const clock = {
    now: () => now() + advancedMs,
    advance: (ms: number) => {
      advancedMs += ms;
    },
  };
  const { db, ...surroundings } = await openDatabase(clock.now(), database, wasm);
  const store = inlineStore(db, url);
  const testOptions = { ...rest, now: clock.now };
  const { subject, fetch: answer } = await startTestService(store, url, testOptions, surroundings);
  const fetch: PageService['fetch'] = async (input, init) => {
    const request = new Request(input, init);
    if (new URL(request.url).origin !== url) return globalThis.fetch(request);
    const { signal } = request;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      answer(request).then(resolve, reject);
    });
  };
  return {
    ...subject,
    fetch,
    handlers: (http) => [
      http.all(`${url}/*`, ({ request }) => fetch(request).catch(() => Response.error())),
    ],
    clock,
  };
}
