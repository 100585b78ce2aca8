import type { Migration } from '../../migration.ts';
import { domainLinks, targets } from './indexes.ts';
import { minuteCounters } from './minute-counters.ts';
import { moving } from './moving.ts';

/**
 * Counts requests of one account that arrived together, one per element of `keys` in the order of their arrival: the first
 * `granted` pass, the others are refused. One call is one short transaction, and the row locks make calls of all instances
 * follow each other, so no window is ever passed and no request is refused while there is place.
 *
 * Rows are locked in the order day, minute, month, by everybody: calls of two minutes that share a day can't deadlock.
 * The commit doesn't wait for the disk (`Store.admit`): the log is written in order, so the next durable commit carries it.
 */
const admission: Migration = {
  version: 2,
  name: 'admission',
  sql: `
    CREATE FUNCTION admit_requests(
      account text,
      day_start bigint, minute_start bigint, month_start bigint,
      day_limit bigint, minute_limit bigint, month_limit bigint, -- null is unlimited
      last_to_end text[], -- the windows, the one that ends last first: of those that are full, that one refuses
      keys text[]
    ) RETURNS TABLE (granted bigint, day_used bigint, minute_used bigint, month_used bigint)
    LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM set_config('synchronous_commit', 'off', true);

      INSERT INTO request_counters (account_id, period, starts_at, used)
        VALUES (account, 'day', day_start, 0), (account, 'minute', minute_start, 0), (account, 'month', month_start, 0)
        ON CONFLICT DO NOTHING;
      SELECT used INTO day_used FROM request_counters
        WHERE account_id = account AND period = 'day' AND starts_at = day_start FOR UPDATE;
      SELECT used INTO minute_used FROM request_counters
        WHERE account_id = account AND period = 'minute' AND starts_at = minute_start FOR UPDATE;
      SELECT used INTO month_used FROM request_counters
        WHERE account_id = account AND period = 'month' AND starts_at = month_start FOR UPDATE;

      -- least() passes over nulls, and so over unlimited windows.
      granted := greatest(0, least(
        cardinality(keys), day_limit - day_used, minute_limit - minute_used, month_limit - month_used));
      IF granted > 0 THEN
        UPDATE request_counters SET used = used + granted
          WHERE account_id = account
            AND (period, starts_at) IN (('day', day_start), ('minute', minute_start), ('month', month_start));
      END IF;

      INSERT INTO key_requests AS history (key_id, day, requests, refused, minute, minute_requests)
        SELECT key, day_start,
            count(*) FILTER (WHERE place <= granted), count(*) FILTER (WHERE place > granted),
            minute_start, count(*) FILTER (WHERE place <= granted)
          FROM unnest(keys) WITH ORDINALITY AS arrived (key, place) GROUP BY key ORDER BY key
        ON CONFLICT (key_id, day) DO UPDATE SET
          requests = history.requests + excluded.requests,
          refused = history.refused + excluded.refused,
          minute_requests = excluded.minute_requests
            + CASE WHEN history.minute = excluded.minute THEN history.minute_requests ELSE 0 END,
          minute = excluded.minute;

      IF granted < cardinality(keys) THEN
        INSERT INTO key_refusals AS refusals (key_id, minute, reason, count)
          SELECT key, minute_start, full_window, count(*)
            FROM unnest(keys) WITH ORDINALITY AS arrived (key, place), LATERAL (
              SELECT name AS full_window FROM unnest(last_to_end) WITH ORDINALITY AS periods (name, place)
                WHERE (name = 'day' AND day_used + granted >= day_limit)
                  OR (name = 'minute' AND minute_used + granted >= minute_limit)
                  OR (name = 'month' AND month_used + granted >= month_limit)
                ORDER BY periods.place LIMIT 1) AS refusing
            WHERE arrived.place > granted GROUP BY key, full_window ORDER BY key
          ON CONFLICT (key_id, minute, reason) DO UPDATE SET count = refusals.count + excluded.count;
      END IF;
      RETURN NEXT;
    END
    $$;

    CREATE FUNCTION refund_request(
      account text, day_start bigint, minute_start bigint, month_start bigint, key text
    ) RETURNS void
    LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM set_config('synchronous_commit', 'off', true);
      UPDATE request_counters SET used = used - 1
        WHERE account_id = account AND period = 'day' AND starts_at = day_start AND used > 0;
      UPDATE request_counters SET used = used - 1
        WHERE account_id = account AND period = 'minute' AND starts_at = minute_start AND used > 0;
      UPDATE request_counters SET used = used - 1
        WHERE account_id = account AND period = 'month' AND starts_at = month_start AND used > 0;
      UPDATE key_requests SET
          requests = requests - 1,
          minute_requests = minute_requests
            - CASE WHEN minute = minute_start AND minute_requests > 0 THEN 1 ELSE 0 END
        WHERE key_id = key AND day = day_start AND requests > 0;
    END
    $$;
  `,
};

/**
 * Names under which both engines read the same rows (see `store/queries/`), and the function that takes quota slots for links.
 * Everything is new beside the old, so instances of the version before this one continue to work.
 *
 * `take_places` takes slots of an account's total of links for requests that came together, in the order of their arrival: one
 * element of `keys` and `counts` for each. The first `granted` get theirs, all the links of a request or none; the others are
 * refused. The lock on the account's row lets calls of all instances follow each other.
 */
const sharedReads: Migration = {
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

/**
 * `link_changes` tells the caches of all instances which links to forget. The last thousand are kept: who missed more reads everything
 * again. The lock lasts until the commit, so that numbers follow the order of commits: whoever reads a number can also read all before it. Creates and
 * clicks change nothing that a redirect shows, and never meet there.
 *
 * The notification is for instances of the version before, which listen for it.
 */
const linkChanges: Migration = {
  version: 4,
  name: 'link changes',
  sql: `
    CREATE TABLE link_changes (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      code text -- null stands for all links
    );
    INSERT INTO link_changes (code) VALUES (NULL);

    CREATE FUNCTION record_link_change() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      changed_code text;
      last_number bigint;
    BEGIN
      PERFORM pg_advisory_xact_lock(7305812448);
      IF TG_TABLE_NAME = 'links' THEN
        changed_code := OLD.code;
        PERFORM pg_notify('shortlink_link_changes', changed_code);
      END IF;
      INSERT INTO link_changes (code) VALUES (changed_code) RETURNING number INTO last_number;
      DELETE FROM link_changes WHERE number <= last_number - 1000;
      RETURN NULL;
    END
    $$;

    CREATE TRIGGER links_changed AFTER UPDATE OF code, target_url, redirect_type, is_active, domain_id OR DELETE ON links
      FOR EACH ROW EXECUTE FUNCTION record_link_change();
    CREATE TRIGGER domains_changed AFTER INSERT OR UPDATE OR DELETE ON domains
      FOR EACH STATEMENT EXECUTE FUNCTION record_link_change();
  `,
};

/**
 * Disabled accounts, keys that end, are replaced and tell when they were used last, and removed domains. Everything is added,
 * without a default that would rewrite a table: instances of the version before continue to work on this schema, and see none of it.
 */
const operators: Migration = {
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

/**
 * The most clicked links of each account, a bounded number of them, so that showing them reads a few rows however many links there
 * are. A link enters with its next click: ranking all links here would hold up a large database for a minute. So does a link that was
 * clicked at an instance of the version before.
 */
const topLinks: Migration = {
  version: 6,
  name: 'top links',
  sql: `
    CREATE TABLE top_links (
      account_id text NOT NULL,
      code text COLLATE "C" NOT NULL,
      clicks bigint NOT NULL, -- when the link was last ranked
      PRIMARY KEY (account_id, code)
    ) WITH (fillfactor = 50);
  `,
};

/**
 * The last write of clicks of each writer, so that one whose commit was in doubt is not counted again when it is repeated. Instances of the
 * version before continue to work on this schema.
 */
const clickWrites: Migration = {
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

/** The links of one account or domain are forgotten where that one changes, not all links. Instances of the version before forget all of them. */
const changeOwners: Migration = {
  version: 11,
  name: 'change owners',
  sql: `
    ALTER TABLE link_changes ADD COLUMN owner text; -- id of the account or domain whose links changed

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
      DELETE FROM link_changes WHERE number <= last_number - 1000;
      RETURN NULL;
    END
    $$;
    CREATE OR REPLACE TRIGGER domains_changed AFTER INSERT OR UPDATE OR DELETE ON domains
      FOR EACH ROW EXECUTE FUNCTION record_link_change();
    CREATE OR REPLACE TRIGGER accounts_disabled AFTER UPDATE OF disabled_at ON accounts
      FOR EACH ROW EXECUTE FUNCTION record_link_change();
  `,
};

/** The steps of the schema since the first one, in order. */
export const changes: readonly Migration[] = [
  admission,
  sharedReads,
  linkChanges,
  operators,
  topLinks,
  clickWrites,
  targets,
  domainLinks,
  minuteCounters,
  changeOwners,
  moving,
];
