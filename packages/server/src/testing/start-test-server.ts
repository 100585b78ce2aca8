import type { Permission, Plan, PlanLimits } from '@shortlink/sdk/wire';
import { createAccount } from '../admin/accounts-create.ts';
import { createKey } from '../admin/keys-create.ts';
import { DEFAULT_PERMISSIONS } from '../domain/permissions.ts';
import { listen } from '../serve.ts';
import { createService } from '../service.ts';
import { openSqliteStore } from '../store/sqlite/index.ts';
import type { Store } from '../store/store.ts';
import { type FaultRule, FaultScript } from './faults.ts';
import { fetchWithFaults } from './fetch-with-faults.ts';

/** Options of {@link startTestServer}. */
export interface TestServerOptions {
  /** Plan of the account. @default 'custom', which has no limit but 10,000 links a batch */
  plan?: Plan | undefined;
  /** Limits that replace the plan's own. @default none */
  limits?: Partial<PlanLimits> | undefined;
  /** Permissions of the key. @default ['shortlinks:write'] */
  permissions?: readonly Permission[] | undefined;
  /** What goes wrong, in order. @default nothing */
  faults?: readonly FaultRule[] | undefined;
  /** The server's clock, in milliseconds since the epoch, to walk over the edge of a window. @default Date.now */
  now?: (() => number) | undefined;
}

/** A server for one test. */
export interface TestServer {
  /** Base address, `http://127.0.0.1:port`. */
  url: string;
  /** A key of the account. */
  apiKey: string;
  accountId: string;
  /** What the server remembers, to look at or to prepare. */
  store: Store;
  /** The faults still to happen; more can be added. */
  faults: FaultScript;
  /** Cuts every connection and forgets everything. */
  close: () => Promise<void>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

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
  const {
    plan = 'custom',
    limits = {},
    permissions = DEFAULT_PERMISSIONS,
    now = Date.now,
  } = options;
  const faults = new FaultScript(options.faults);
  // A test's own Request and Response stay what they are.
  const listener = await listen('127.0.0.1', 0, { overrideGlobalObjects: false });
  const { url } = listener;
  const store = await openSqliteStore({ path: ':memory:', publicUrl: url });
  const account = await createAccount(store, { name: 'test', plan, limits, now: now() });
  const { key } = await createKey(store, {
    accountId: account.id,
    name: 'test',
    permissions,
    now: now(),
  });
  const service = createService({ store, publicUrl: url, now });
  await service.start();
  listener.answerWith(fetchWithFaults(service.fetch, faults));
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      await listener.close({ drainTimeoutMs: 0 });
      await service.stop();
      await store.close();
    })();
    return closing;
  };
  return {
    url,
    apiKey: key,
    accountId: account.id,
    store,
    faults,
    close,
    [Symbol.asyncDispose]: close,
  };
}
