import type { Migration } from '../../migration.ts';

/**
 * Names under which both engines read the same rows (see `store/queries/`), and the function that takes quota slots for links.
 * Everything is new beside the old, so instances of the version before this one go on working.
 *
 * `take_places` takes slots of an account's total of links for requests that came together, in the order of their arrival: one
 * element of `keys` and `counts` for each. The first `granted` get theirs, all the links of a request or none; the others are
 * refused. The lock on the account's row lets calls of all instances follow each other.
 */
export const sharedReads: Migration = {
  version: 3,
  name: 'shared reads',
  sql: `
    -- The order of insertion, by SQLite's name for it.
    ALTER TABLE accounts ADD COLUMN rowid bigint GENERATED ALWAYS AS (position) STORED;
    ALTER TABLE api_keys ADD COLUMN rowid bigint GENERATED ALWAYS AS (position) STORED;
    ALTER TABLE domains ADD COLUMN rowid bigint GENERATED ALWAYS AS (position) STORED;

    CREATE INDEX domains_account ON domains (account_id);

    CREATE VIEW request_windows AS SELECT account_id, period AS name, starts_at, used FROM request_counters;

    -- Titles are JSON strings here, and null is the empty one.
    CREATE VIEW link_details AS
      SELECT code, id, account_id, domain_id, target_url, title, redirect_type, is_active, tags, created_at,
        (SELECT coalesce(sum(clicks), 0)::bigint FROM link_clicks WHERE link_clicks.code = links.code) AS click_count
      FROM links;

    CREATE FUNCTION take_places(
      account text,
      allowed bigint, -- null is unlimited
      day_start bigint, minute_start bigint,
      keys text[], counts bigint[]
    ) RETURNS TABLE (granted bigint, used_now bigint)
    LANGUAGE plpgsql AS $$
    DECLARE
      taken bigint;
    BEGIN
      SELECT used INTO used_now FROM link_totals WHERE account_id = account FOR NO KEY UPDATE;
      IF NOT FOUND THEN
        RETURN;
      END IF;

      SELECT count(*), coalesce(sum(links), 0) INTO granted, taken
        FROM (SELECT links, sum(links) OVER (ORDER BY place) AS running
          FROM unnest(counts) WITH ORDINALITY AS wanted (links, place)) AS wanted
        WHERE allowed IS NULL OR used_now + running <= allowed;
      IF taken > 0 THEN
        UPDATE link_totals SET used = used + taken WHERE account_id = account;
        used_now := used_now + taken;
      END IF;

      INSERT INTO key_links AS history (key_id, day, links, refused)
        SELECT key, day_start,
            coalesce(sum(wanted.links) FILTER (WHERE place <= granted), 0), count(*) FILTER (WHERE place > granted)
          FROM unnest(keys, counts) WITH ORDINALITY AS wanted (key, links, place) GROUP BY key ORDER BY key
        ON CONFLICT (key_id, day) DO UPDATE SET
          links = history.links + excluded.links, refused = history.refused + excluded.refused;

      IF granted < cardinality(keys) THEN
        INSERT INTO key_refusals AS refusals (key_id, minute, reason, count)
          SELECT key, minute_start, 'links', count(*)
            FROM unnest(keys) WITH ORDINALITY AS wanted (key, place)
            WHERE place > granted GROUP BY key ORDER BY key
          ON CONFLICT (key_id, minute, reason) DO UPDATE SET count = refusals.count + excluded.count;
      END IF;
      RETURN NEXT;
    END
    $$;
  `,
};
