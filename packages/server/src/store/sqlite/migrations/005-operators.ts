import type { Migration } from '../../migration.ts';

/**
 * Disabled accounts, keys that end, are replaced and tell when they were used last, and removed domains. Everything is added:
 * a server of the version before goes on working on this schema, and sees none of it.
 */
export const operators: Migration = {
  version: 5,
  name: 'operators',
  sql: `
    ALTER TABLE accounts ADD COLUMN disabled_at INTEGER;
    ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
    ALTER TABLE api_keys ADD COLUMN replaced_by TEXT; -- id of the key it was rotated to
    ALTER TABLE domains ADD COLUMN removed_at INTEGER;
    CREATE TRIGGER accounts_disabled AFTER UPDATE OF disabled_at ON accounts BEGIN
      INSERT INTO link_changes (code) VALUES (NULL);
    END;

    CREATE TABLE key_uses (
      key_id TEXT NOT NULL PRIMARY KEY,
      used_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
};
