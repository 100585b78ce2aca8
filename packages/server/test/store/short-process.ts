import { PLAN_LIMITS } from '@shortlink/sdk/wire';
import { NOW, newKey, newLink, PUBLIC_URL } from '../../src/store/contract/fixtures.test-suite.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import type { Store } from '../../src/store/store.ts';

/** A process that takes one step on the database file it is given, as an admin command does, prints its outcome and ends. */
const [path = '', step = '', argument = ''] = process.argv.slice(2);

const steps: Record<string, (store: Store) => Promise<string>> = {
  'create-account': async (store) => {
    const limits = PLAN_LIMITS.pro;
    return (await store.createAccount({ name: argument, plan: 'pro', limits, now: NOW })).id;
  },
  'disable-link': async (store) => {
    const link = await store.setLinkActive(argument, false);
    return link?.is_active === false ? 'disabled' : 'unknown';
  },
  /** Sends 100 requests and creates 50 links at once, on the account given; answers how many passed. */
  'use-up': async (store) => {
    const caller = await newKey(store, argument);
    const [admissions, links] = await Promise.all([
      Promise.all(Array.from({ length: 100 }, () => store.admit(caller, NOW))),
      Promise.all(
        Array.from({ length: 50 }, () => store.createLink({ caller, input: newLink(), now: NOW })),
      ),
    ]);
    const admitted = admissions.filter((admission) => admission.admitted).length;
    return `${admitted} ${links.filter((outcome) => outcome.ok).length}`;
  },
};

const store = await openSqliteStore({ path, publicUrl: PUBLIC_URL });
process.stdout.write(`${await steps[step]?.(store)}\n`);
await store.close();
