import type { Migration } from '../migration.ts';
import { sharedTables } from '../tables.ts';
import { minuteCounters } from './minute-counters.ts';

/**
 * From the next step on everything is only added, without rewriting a large table, so that the version before continues to work. Versions 1 to 18 were
 * never released.
 *
 * `take_slots` takes slots of an account's total for requests in the order of `keys`. The first `granted` get theirs, `each_links` of them. The lock
 * on the account's row lets calls of all instances follow each other. That of `record_link_change` lasts until the commit, so that who reads a
 * number can read all before it; no create or click waits for it.
 */
export const migrations: readonly Migration[] = [
  {
    version: 19,
    name: 'first release',
    sql: `
    ${sharedTables('postgres')}
    ALTER TABLE link_clicks SET (fillfactor = 80); -- of all counters, only these are as many as the links

    CREATE TABLE key_links (
      key_id text NOT NULL,
      day bigint NOT NULL, -- midnight UTC
      links bigint NOT NULL,
      refused bigint NOT NULL,
      PRIMARY KEY (key_id, day)
    ) WITH (fillfactor = 50);
    CREATE INDEX key_links_day ON key_links (day);
    ${minuteCounters}
    CREATE FUNCTION take_slots(
      account text,
      full_limit text, -- the limit of those that are refused
      allowed bigint, -- null is unlimited
      day_start bigint, minute_start bigint,
      keys text[], each_links bigint
    ) RETURNS TABLE (granted bigint, used_now bigint)
    LANGUAGE plpgsql AS $$
    BEGIN
      SELECT used INTO used_now FROM link_totals WHERE account_id = account FOR NO KEY UPDATE;
      IF NOT FOUND THEN
        RETURN;
      END IF;

      -- least() passes over nulls, and so over a total without a limit.
      granted := greatest(0, least(cardinality(keys), (allowed - used_now) / each_links));
      IF granted > 0 THEN
        UPDATE link_totals SET used = used + granted * each_links WHERE account_id = account RETURNING used INTO used_now;
      END IF;

      INSERT INTO key_links AS history (key_id, day, links, refused)
        SELECT key, day_start,
            each_links * count(*) FILTER (WHERE place <= granted), count(*) FILTER (WHERE place > granted)
          FROM unnest(keys) WITH ORDINALITY AS wanted (key, place) GROUP BY key ORDER BY key
        ON CONFLICT (key_id, day) DO UPDATE SET
          links = history.links + excluded.links, refused = history.refused + excluded.refused;

      IF granted < cardinality(keys) THEN
        INSERT INTO key_refusals AS refusals (key_id, minute, reason, count)
          SELECT key, minute_start, full_limit, count(*)
            FROM unnest(keys) WITH ORDINALITY AS wanted (key, place)
            WHERE place > granted GROUP BY key ORDER BY key
          ON CONFLICT (key_id, minute, reason) DO UPDATE SET count = refusals.count + excluded.count;
      END IF;
      RETURN NEXT;
    END
    $$;

    CREATE FUNCTION record_link_change() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      changed_code text;
      changed_owner text;
      last_number bigint;
    BEGIN
      PERFORM pg_advisory_xact_lock(7305812448);
      IF TG_TABLE_NAME = 'links' THEN
        changed_code := OLD.code;
      ELSE
        changed_owner := coalesce(NEW.id, OLD.id);
      END IF;
      INSERT INTO link_changes (code, owner) VALUES (changed_code, changed_owner) RETURNING number INTO last_number;
      -- Not each time: it reads again what this transaction deleted before, so the time for many corrections at once would grow with the square of their number.
      IF last_number % 1000 = 0 THEN
        DELETE FROM link_changes WHERE number <= last_number - 1000;
      END IF;
      RETURN NULL;
    END
    $$;
    CREATE TRIGGER domains_changed AFTER INSERT OR UPDATE OR DELETE ON domains
      FOR EACH ROW EXECUTE FUNCTION record_link_change();
    CREATE TRIGGER accounts_disabled AFTER UPDATE OF disabled_at ON accounts
      FOR EACH ROW EXECUTE FUNCTION record_link_change();
    CREATE TRIGGER links_changed AFTER UPDATE OF code, target_url, redirect_type, is_active, domain_id OR DELETE ON links
      FOR EACH ROW EXECUTE FUNCTION record_link_change();
  `,
  },
];
