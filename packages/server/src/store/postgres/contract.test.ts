import { beforeAll } from 'vitest';
import { PUBLIC_URL } from '../contract/fixtures.ts';
import { testStoreContract } from '../contract.test-suite.ts';
import { openPostgresStore } from './index.ts';
import { usePostgres } from './test-postgres.test-suite.ts';

const { newDatabase } = usePostgres();

/** A database with all tables. To copy it takes half as long as to create them. */
let migrated: string;
beforeAll(async () => {
  migrated = await newDatabase();
  await (await openPostgresStore({ url: migrated, publicUrl: PUBLIC_URL })).close();
});

testStoreContract('PostgreSQL', async () =>
  openPostgresStore({ url: await newDatabase(migrated), publicUrl: PUBLIC_URL }),
);
