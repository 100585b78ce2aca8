import { PUBLIC_URL } from '../contract/fixtures.ts';
import { testStoreContract } from '../contract.test-suite.ts';
import { openSqliteStore } from './index.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';

testStoreContract('SQLite in memory', () =>
  openSqliteStore({ path: ':memory:', publicUrl: PUBLIC_URL }),
);

const path = useDatabasePath();
testStoreContract('SQLite in a file', () =>
  openSqliteStore({ path: path(), publicUrl: PUBLIC_URL }),
);
