import { vi } from 'vitest';
import { PUBLIC_URL } from '../contract/fixtures.ts';
import { testStoreContract } from '../contract.test-suite.ts';
import { openPostgresStore } from './index.ts';
import { usePostgres } from './test-postgres.test-suite.ts';

// One test makes 2,500 durable writes; on a busy machine they take longer than a test may by default.
vi.setConfig({ testTimeout: 30_000 });

const { newDatabase } = usePostgres();
testStoreContract('PostgreSQL', async () =>
  openPostgresStore({ url: await newDatabase(), publicUrl: PUBLIC_URL }),
);
