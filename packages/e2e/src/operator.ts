import { PLANS, type PlanLimits } from '@shortlink/sdk/wire';
import { readSettings } from '@shortlink/server';
import { createKey, databaseTools, type Store } from './inner-server.ts';

/** Limits of an account by their names in `--limit`. */
const LIMITS = {
  rpm: 'requests_per_minute',
  rpd: 'requests_per_day',
  rpmonth: 'requests_per_month',
  links: 'links',
  keys: 'api_keys',
  batch: 'batch_size',
} as const satisfies Record<string, keyof PlanLimits>;

export type Limits = Partial<Record<keyof typeof LIMITS, number | 'unlimited'>>;

// What the operator's commands do, without a process for each: the commands have tests of their own, and starting one is slow.

/** Opens a database beside its servers. */
export function openDatabase(database: string, publicUrl: string): Promise<Store> {
  return databaseTools(readSettings({ database }, {})).open(publicUrl);
}

export function newAccount(store: Store, plan: string, limits: Limits = {}) {
  const wanted = PLANS.find((name) => name === plan);
  if (wanted === undefined) throw new Error(`no plan ${plan}`);
  const entries = Object.entries(limits) as [keyof Limits, number | 'unlimited'][];
  return store.createAccount({
    name: `${plan} test`,
    plan: wanted,
    limits: Object.fromEntries(
      entries.map(([name, value]) => [LIMITS[name], value === 'unlimited' ? null : value]),
    ),
    now: Date.now(),
  });
}

export function newKey(
  store: Store,
  accountId: string,
  permission: 'shortlinks:write' | 'analytics:read' = 'shortlinks:write',
) {
  const input = { accountId, name: 'test', permissions: [permission], now: Date.now() };
  return createKey(store, input);
}

/** An account on this plan with one key. */
export async function newCaller(store: Store, plan: string, limits?: Limits) {
  const account = await newAccount(store, plan, limits);
  const key = await newKey(store, account.id);
  return { account, key: key.key, keyId: key.id };
}
