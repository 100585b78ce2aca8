import type { Migration } from '../../migration.ts';

/**
 * The last write of clicks of each writer, so that one whose commit was in doubt is not counted again when it is repeated. A server of the
 * version before goes on working on this schema.
 */
export const clickWrites: Migration = {
  version: 7,
  name: 'click writes',
  sql: `
    CREATE TABLE click_writes (
      writer TEXT NOT NULL PRIMARY KEY,
      number INTEGER NOT NULL,
      written_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
};
