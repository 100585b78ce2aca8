/**
 * What tests use of the server that its package does not export: they prepare databases, and look into them.
 */
import {
  type TestServer as PublicTestServer,
  startTestServer as startPublic,
  type TestServerOptions,
} from '@shortlink/server/testing';
import { listen } from '../../server/src/serve.ts';
import type { Store } from '../../server/src/store/store.ts';
import { startTestService } from '../../server/src/testing/test-service.ts';

export { createKey } from '../../server/src/admin/keys.ts';
export { databaseTools } from '../../server/src/open-store.ts';
export type { Caller, Store } from '../../server/src/store/store.ts';
export type { TestServerOptions };

/** The test server as it is built, with its store; on a store that is given, as it is in the source. */
export type TestServer = PublicTestServer & { store: Store };

/** @param options `store`: an empty store to run on. Default: a database in memory */
export async function startTestServer({
  store,
  ...options
}: TestServerOptions & { store?: Store | undefined } = {}): Promise<TestServer> {
  if (store === undefined) return (await startPublic(options)) as TestServer;
  const listener = await listen('127.0.0.1', 0, { overrideGlobalObjects: false });
  const disconnect = () => listener.close({ drainTimeoutMs: 0 });
  const { subject, answer } = await startTestService(store, listener.url, options, { disconnect });
  listener.respondWith(answer);
  // The built package has a class of its own for the faults, with the same members.
  return subject as object as TestServer;
}
