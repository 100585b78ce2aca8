/**
 * A real Shortlink server for tests: on a free port, in memory, with scripted faults.
 *
 * @packageDocumentation
 */

import { listen } from '../serve.ts';
import { openSqliteStore } from '../store/sqlite/index.ts';
import { startTestService, type TestServiceOptions, type TestSubject } from './test-service.ts';

export { type Fault, type FaultRule, FaultScript } from './faults.ts';
export type { TestServiceOptions, TestSubject };

/** Options of {@link startTestServer}. */
export type TestServerOptions = TestServiceOptions;

/** A server for one test, on a port of 127.0.0.1. */
export type TestServer = TestSubject;

/**
 * Starts the whole service on a free port of 127.0.0.1, on a database in memory, with one account and key.
 *
 * @example
 * ```ts
 * await using server = await startTestServer({
 *   plan: 'pro',
 *   faults: [{ fault: { kind: 'answer', status: 429, retryAfterSeconds: 1 } }],
 * });
 * const shortlink = new Shortlink({ apiKey: server.apiKey, baseUrl: server.url });
 * ```
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  // A test's own Request and Response stay what they are.
  const listener = await listen('127.0.0.1', 0, { overrideGlobalObjects: false });
  const { url } = listener;
  const store = await openSqliteStore({ path: ':memory:', publicUrl: url });
  // A port that stays open would keep the process of the tests running.
  const disconnect = () => listener.close({ drainTimeoutMs: 0 });
  const { subject, answer } = await startTestService(store, url, options, { disconnect });
  listener.respondWith(answer);
  return subject;
}
