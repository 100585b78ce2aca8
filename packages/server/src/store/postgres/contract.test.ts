import { PUBLIC_URL } from '../contract/fixtures.ts';
import { testStoreContract } from '../contract.test-suite.ts';
import { openPostgresStore } from './index.ts';
import { usePostgres } from './test-postgres.test-suite.ts';

const { newDatabase } = usePostgres();
testStoreContract('PostgreSQL', async () =>
  openPostgresStore({ url: await newDatabase(), publicUrl: PUBLIC_URL }),
);
