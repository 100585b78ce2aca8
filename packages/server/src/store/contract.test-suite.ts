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

/** What `store.ts` promises, as tests that every engine passes. */
export function testStoreContract(engine: string, open: OpenStore): void {
  const useStore = storeHooks(open);
  describe(`${engine} keeps the store contract`, () => {
    describe('accounts, keys and domains', () => testAccounts(useStore));
    describe('what operators do', () => testOperators(useStore));
    describe('moving', () => testMoving(useStore));
    describe('admission', () => testAdmission(useStore));
    describe('creating links', () => testCreate(useStore));
    describe('idempotency', () => testIdempotency(useStore));
    describe('jobs', () => testJobs(useStore));
    describe('look-ups', () => testLookup(useStore));
    describe('redirects and clicks', () => testRedirects(useStore));
    describe('usage and housekeeping', () => testHousekeeping(useStore));
  });
}
