import { PUBLIC_URL } from '../contract/fixtures.test-suite.ts';
import { testStoreContract } from '../contract.test-suite.ts';
import { openSqliteStore } from './index.ts';

// Apart from the same on a file, so that `pnpm test:fast` has it: it needs no disk, and takes a second.
testStoreContract('SQLite in memory', () =>
  openSqliteStore({ path: ':memory:', publicUrl: PUBLIC_URL }),
);
