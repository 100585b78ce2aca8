/**
 * What tests use of the server that its package does not export: they prepare databases, and look into them.
 */
import {
  type TestServer as PublicTestServer,
  startTestServer as startPublic,
  type TestServerOptions,
} from '@shortlink/server/testing';
import type { Store } from '../../server/src/store/store.ts';

export { createAccount } from '../../server/src/admin/accounts.ts';
export { createKey } from '../../server/src/admin/keys.ts';
export { openStore } from '../../server/src/open-store.ts';
export type { Caller, Store } from '../../server/src/store/store.ts';
export type { TestServerOptions };

/** The test server as it is built, with its store. */
export type TestServer = PublicTestServer & { store: Store };

/** @param options `store`: an empty store to run on. Default: a database in memory */
export async function startTestServer(
  options: TestServerOptions & { store?: Store | undefined } = {},
): Promise<TestServer> {
  return (await startPublic(options)) as TestServer;
}
