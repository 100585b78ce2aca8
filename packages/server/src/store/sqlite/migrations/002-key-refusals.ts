import type { Migration } from '../../migration.ts';

/** Which limit refused a key's requests, by the minute, for the usage answer and the analytics page. */
export const keyRefusals: Migration = {
  version: 2,
  name: 'key refusals',
  sql: `
    CREATE TABLE key_refusals (
      key_id TEXT NOT NULL,
      minute INTEGER NOT NULL, -- when it began
      reason TEXT NOT NULL,
      count INTEGER NOT NULL,
      PRIMARY KEY (key_id, minute, reason)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX key_refusals_minute ON key_refusals (minute);
  `,
};
