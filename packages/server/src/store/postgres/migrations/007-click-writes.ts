import type { Migration } from '../../migration.ts';

/**
 * The last write of clicks of each writer, so that one whose commit was in doubt is not counted again when it is repeated. Instances of the
 * version before go on working on this schema.
 */
export const clickWrites: Migration = {
  version: 7,
  name: 'click writes',
  sql: `
    CREATE TABLE click_writes (
      writer text PRIMARY KEY,
      number bigint NOT NULL,
      written_at bigint NOT NULL
    ) WITH (fillfactor = 50);
  `,
};
