import type { Migration } from '../../migration.ts';

/**
 * Disabled accounts, keys that end, are replaced and tell when they were used last, and removed domains. Everything is added,
 * without a default that would rewrite a table: instances of the version before go on working on this schema, and see none of it.
 */
export const operators: Migration = {
  version: 5,
  name: 'operators',
  sql: `
    ALTER TABLE accounts ADD COLUMN disabled_at bigint;
    ALTER TABLE api_keys ADD COLUMN expires_at bigint, ADD COLUMN replaced_by text; -- id of the key it was rotated to
    ALTER TABLE domains ADD COLUMN removed_at bigint;
    CREATE TRIGGER accounts_disabled AFTER UPDATE OF disabled_at ON accounts
      FOR EACH STATEMENT EXECUTE FUNCTION record_link_change();

    CREATE TABLE key_uses (
      key_id text PRIMARY KEY,
      used_at bigint NOT NULL
    ) WITH (fillfactor = 50);
  `,
};
