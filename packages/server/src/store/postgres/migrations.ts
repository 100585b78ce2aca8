import type { Migration } from '../migration.ts';
import { addedTables, initialTables, refusalsTable } from '../tables.ts';
import { minuteCounters } from './minute-counters.ts';

/** Everything is only added, without rewriting a large table, so that the version before continues to work. Versions 3 to 14 were never released. */
export const migrations: readonly Migration[] = [
  /**
   * `position` is the order of insertion. `links` has no foreign keys: checking one locks the referenced row, where every create of an account would
   * meet, and none is ever deleted. Counters stand in narrow tables, with room in each page, so that an update rewrites few bytes and no index.
   */
  {
    version: 1,
    name: 'initial',
    sql: `
    ${initialTables('postgres')}
    ${refusalsTable('postgres')}
    CREATE INDEX jobs_unfinished ON jobs (position) WHERE completed_at IS NULL;
    CREATE INDEX request_counters_age ON request_counters (period, starts_at);

    CREATE TABLE link_totals (
      account_id text PRIMARY KEY REFERENCES accounts (id),
      used bigint NOT NULL DEFAULT 0 -- quota slots taken, also by links of jobs that still run
    ) WITH (fillfactor = 50);

    CREATE TABLE links (
      id uuid NOT NULL,
      created_at bigint NOT NULL,
      redirect_type smallint NOT NULL,
      is_active boolean NOT NULL DEFAULT true,
      code text COLLATE "C" PRIMARY KEY,
      account_id text NOT NULL,
      domain_id text, -- null is the default domain
      target_url text NOT NULL,
      title text, -- JSON string; null is the empty one
      tags text -- JSON array; null is the empty one
    );

    CREATE TABLE link_clicks (
      code text COLLATE "C" NOT NULL,
      slot smallint NOT NULL, -- see CLICK_SLOTS in engine.ts
      clicks bigint NOT NULL,
      PRIMARY KEY (code, slot)
    ) WITH (fillfactor = 80);

    CREATE TABLE key_requests (
      key_id text NOT NULL,
      day bigint NOT NULL, -- midnight UTC
      requests bigint NOT NULL,
      refused bigint NOT NULL,
      minute bigint NOT NULL, -- the last minute that saw a request
      minute_requests bigint NOT NULL, -- requests in that minute
      PRIMARY KEY (key_id, day)
    ) WITH (fillfactor = 50);
    CREATE INDEX key_requests_day ON key_requests (day);

    CREATE TABLE key_links (
      key_id text NOT NULL,
      day bigint NOT NULL,
      links bigint NOT NULL,
      refused bigint NOT NULL,
      PRIMARY KEY (key_id, day)
    ) WITH (fillfactor = 50);
    CREATE INDEX key_links_day ON key_links (day);
  `,
  },

  /** It made the functions that count requests. {@link minuteCounters} replaces them, and nobody counts requests between two steps. */
  { version: 2, name: 'admission', sql: '' },

  /**
   * `take_slots` takes slots of an account's total for requests in the order of `keys`. The first `granted` get theirs, `each_links` of them. The lock
   * on the account's row lets calls of all instances follow each other. That of `record_link_change` lasts until the commit, so that who reads a
   * number can read all before it; no create or click waits for it. The version before listens for the notification.
   */
  {
    version: 15,
    name: 'shared tables',
    sql: `
    -- The order of insertion, by SQLite's name for it: PostgreSQL reads accounts.rowid as rowid(accounts). A column would rewrite the table.
    CREATE FUNCTION rowid(accounts) RETURNS bigint IMMUTABLE LANGUAGE sql RETURN $1.position;
    CREATE FUNCTION rowid(api_keys) RETURNS bigint IMMUTABLE LANGUAGE sql RETURN $1.position;
    CREATE FUNCTION rowid(domains) RETURNS bigint IMMUTABLE LANGUAGE sql RETURN $1.position;
    ALTER TABLE link_clicks ALTER COLUMN slot SET DEFAULT 0; -- SQLite has no slots
    ${addedTables('postgres')}
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

    CREATE OR REPLACE FUNCTION record_link_change() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      changed_code text;
      changed_owner text;
      last_number bigint;
    BEGIN
      PERFORM pg_advisory_xact_lock(7305812448);
      IF TG_TABLE_NAME = 'links' THEN
        changed_code := OLD.code;
        PERFORM pg_notify('shortlink_link_changes', changed_code);
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
    ${minuteCounters}
  `,
  },

  /** The number of each target, by which links are found. Links without one, of the version before, get theirs from `indexLinks`. */
  {
    version: 16,
    name: 'targets',
    sql: `
    ALTER TABLE links ADD COLUMN IF NOT EXISTS target_number bigint;

    CREATE OR REPLACE FUNCTION forget_target_number() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.target_number := NULL;
      RETURN NEW;
    END
    $$;
    CREATE OR REPLACE TRIGGER links_retargeted BEFORE UPDATE OF target_url, domain_id ON links
      FOR EACH ROW WHEN ((NEW.target_url, NEW.domain_id) IS DISTINCT FROM (OLD.target_url, OLD.domain_id))
      EXECUTE FUNCTION forget_target_number();
    CREATE OR REPLACE TRIGGER links_changed AFTER UPDATE OF code, target_url, redirect_type, is_active, domain_id OR DELETE ON links
      FOR EACH ROW EXECUTE FUNCTION record_link_change();

    -- Titles are JSON strings here, and null is the empty one.
    CREATE OR REPLACE VIEW link_details AS
      SELECT code, id, account_id, domain_id, target_url, title, redirect_type, is_active, tags, created_at,
        (SELECT coalesce(sum(clicks), 0)::bigint FROM link_clicks WHERE link_clicks.code = links.code) AS click_count, target_number
      FROM links;
  `,
    concurrently: {
      links_target: 'links (target_number, id) WHERE target_number IS NOT NULL',
      links_without_number: 'links (target_number) WHERE target_number IS NULL',
      links_domain: 'links (domain_id) WHERE domain_id IS NOT NULL',
    },
  },
];
