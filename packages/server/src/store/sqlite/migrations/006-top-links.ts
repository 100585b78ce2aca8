import type { Migration } from '../../migration.ts';

/**
 * The most clicked links of each account, a bounded number of them, so that showing them reads a few rows however many links there
 * are. A link enters with its next click: ranking all links here would hold up a large database for a minute. So does a link that was
 * clicked at an instance of the version before.
 */
export const topLinks: Migration = {
  version: 6,
  name: 'top links',
  sql: `
    CREATE TABLE top_links (
      account_id TEXT NOT NULL,
      code TEXT NOT NULL,
      clicks INTEGER NOT NULL, -- when the link was last ranked
      PRIMARY KEY (account_id, code)
    ) STRICT, WITHOUT ROWID;
  `,
};
