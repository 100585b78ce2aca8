import type { PlanLimits } from '@shortlink/sdk/wire';
import type { Store } from '../store/store.ts';
import { createAccount } from './accounts-create.ts';
import { createKey } from './keys-create.ts';

/** Nothing to run into while trying things out. */
const NO_LIMITS: PlanLimits = {
  requests_per_minute: null,
  requests_per_day: null,
  requests_per_month: null,
  links: null,
  api_keys: null,
  batch_size: null,
};

/**
 * `start --dev`: on a database without accounts, makes one on the Custom plan without limits and returns its key.
 * Otherwise changes nothing.
 */
export async function createDevAccount(store: Store, now: number): Promise<string | undefined> {
  if ((await store.listAccounts()).length > 0) return undefined;
  const account = await createAccount(store, {
    name: 'dev',
    plan: 'custom',
    limits: NO_LIMITS,
    now,
  });
  const { key } = await createKey(store, {
    accountId: account.id,
    name: 'dev',
    permissions: ['shortlinks:write', 'analytics:read'],
    now,
  });
  return key;
}
