import { describe } from 'vitest';
import { testAccounts } from './contract/accounts.test-suite.ts';
import { testAdmission } from './contract/admission.test-suite.ts';
import { testCreate } from './contract/create.test-suite.ts';
import type { OpenStore } from './contract/fixtures.test-suite.ts';
import { testHousekeeping } from './contract/housekeeping.test-suite.ts';
import { testIdempotency } from './contract/idempotency.test-suite.ts';
import { testJobs } from './contract/jobs.test-suite.ts';
import { testLookup } from './contract/lookup.test-suite.ts';
import { testMoving } from './contract/moving.test-suite.ts';
import { testOperators } from './contract/operators.test-suite.ts';
import { testRedirects } from './contract/redirects.test-suite.ts';
import { storeHooks } from './contract/use-store.test-suite.ts';

const GROUPS = {
  'accounts, keys and domains': testAccounts,
  'what operators do': testOperators,
  moving: testMoving,
  admission: testAdmission,
  'creating links': testCreate,
  idempotency: testIdempotency,
  jobs: testJobs,
  'look-ups': testLookup,
  'redirects and clicks': testRedirects,
  'usage and housekeeping': testHousekeeping,
};

export type ContractGroup = keyof typeof GROUPS;

/**
 * What `store.ts` promises, as tests that every engine passes.
 *
 * @param names - the groups of tests. @default all
 */
export function testStoreContract(
  engine: string,
  open: OpenStore,
  names = Object.keys(GROUPS) as ContractGroup[],
): void {
  const useStore = storeHooks(open);
  describe(`${engine} keeps the store contract`, () => {
    // Not `describe.each`, which the runner in workers and pages hasn't.
    for (const name of names) describe(name, () => GROUPS[name](useStore));
  });
}
