import type { Migration } from '../../migration.ts';

/**
 * Names under which both engines read the same rows (see `store/queries/`). Views only: processes of the version before this one
 * go on working.
 */
export const sharedReads: Migration = {
  version: 3,
  name: 'shared reads',
  sql: `
    CREATE INDEX domains_account ON domains (account_id);

    CREATE VIEW request_windows AS SELECT account_id, window AS name, starts_at, used FROM request_counters;
    CREATE VIEW link_totals AS SELECT id AS account_id, links_used AS used FROM accounts;
    CREATE VIEW key_requests AS SELECT key_id, day, requests, refused, minute, minute_requests FROM key_days;
    -- The refusals of both kinds are counted in key_requests.
    CREATE VIEW key_links AS SELECT key_id, day, links, 0 AS refused FROM key_days;
  `,
};
