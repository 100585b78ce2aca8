import type { Permission, Plan, PlanLimits } from '@shortlink/sdk/wire';
import { createAccount } from '../admin/accounts.ts';
import { createKey } from '../admin/keys.ts';
import { DEFAULT_PERMISSIONS } from '../api-key.ts';
import type { Fetch } from '../serve.ts';
import { createService } from '../service.ts';
import { openSqliteStore } from '../store/sqlite/index.ts';
import type { Store } from '../store/store.ts';
import { type FaultRule, FaultScript, fetchWithFaults } from './faults.ts';

/** What a service for tests is like. */
export interface TestServiceOptions {
  /** Plan of the account. @default 'custom', which has no limit but 10,000 links a batch */
  plan?: Plan | undefined;
  /** Limits that replace the plan's own. @default none */
  limits?: Partial<PlanLimits> | undefined;
  /** Permissions of the key. @default ['shortlinks:write'] */
  permissions?: readonly Permission[] | undefined;
  /** What goes wrong, in order. @default nothing */
  faults?: readonly FaultRule[] | undefined;
  /** The service's clock, in milliseconds since the epoch, to walk over the edge of a window. @default Date.now */
  now?: (() => number) | undefined;
}

/** What a test has of its service: one account and key, and a way to look inside. */
export interface TestSubject {
  /** A key of the account. */
  apiKey: string;
  accountId: string;
  /** The faults still to happen; more can be added. */
  faults: FaultScript;
}

/** A whole service in memory. */
interface TestService extends TestSubject {
  /** What the service remembers. */
  store: Store;
  /** Responds to one request, or cuts its connection where a fault says so. */
  answer: Fetch;
  /** Ends the jobs and forgets everything. Calling it twice is fine. */
  stop: () => Promise<void>;
}

/** Starts a service without a socket; its short URLs begin with `publicUrl`. It closes its store, which is one in memory unless another is given. */
export async function startTestService(
  publicUrl: string,
  options: TestServiceOptions & { store?: Store | undefined },
): Promise<TestService> {
  const {
    plan = 'custom',
    limits = {},
    permissions = DEFAULT_PERMISSIONS,
    now = Date.now,
  } = options;
  const faults = new FaultScript(options.faults);
  const store = options.store ?? (await openSqliteStore({ path: ':memory:', publicUrl }));
  const account = await createAccount(store, { name: 'test', plan, limits, now: now() });
  const keyInput = { accountId: account.id, name: 'test', permissions, now: now() };
  const { key } = await createKey(store, keyInput);
  const service = createService({ store, publicUrl, now });
  await service.start();
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await service.stop();
    await store.close();
  };
  return {
    apiKey: key,
    accountId: account.id,
    store,
    faults,
    answer: fetchWithFaults(service.fetch, faults),
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}
