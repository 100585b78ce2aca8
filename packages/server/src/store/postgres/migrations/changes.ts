import type { Steps } from '../../migration.ts';
import { minuteCounters } from './minute-counters.ts';
import { moving } from './moving.ts';

/** Step 11 makes it too, for databases whose step 4 made one without owners. */
const RECORD_LINK_CHANGE = `CREATE OR REPLACE FUNCTION record_link_change() RETURNS trigger LANGUAGE plpgsql AS $$
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
    $$;`;

/** The steps of the schema since the first one, in order. */
export const changes: Steps = {
  /** It made the functions that count requests. {@link minuteCounters} replaces them, and nobody counts requests between two steps. */
  admission: '',

  /**
   * Names under which both engines read the same rows (see `store/queries/`), and the function that takes quota slots for links.
   * Everything is new beside the old, so instances of the version before this one continue to work.
   *
   * `take_places` takes slots of an account's total of links for requests that came together, in the order of their arrival: one
   * element of `keys` and `counts` for each. The first `granted` get theirs, all the links of a request or none; the others are
   * refused. The lock on the account's row lets calls of all instances follow each other.
   */
  'shared reads': `
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

  /**
   * `link_changes` tells the caches of all instances which links to forget. The last thousand are kept: who missed more reads everything
   * again. The lock lasts until the commit, so that numbers follow the order of commits: whoever reads a number can also read all before it. Creates and
   * clicks change nothing that a redirect shows, and never meet there.
   *
   * The notification is for instances of the version before, which listen for it.
   */
  'link changes': `
    CREATE TABLE link_changes (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      code text, -- with no owner, null stands for all links
      owner text -- id of the account or domain whose links changed
    );
    INSERT INTO link_changes (code) VALUES (NULL);

    ${RECORD_LINK_CHANGE}
    CREATE TRIGGER links_changed AFTER UPDATE OF code, target_url, redirect_type, is_active, domain_id OR DELETE ON links
      FOR EACH ROW EXECUTE FUNCTION record_link_change();
    CREATE TRIGGER domains_changed AFTER INSERT OR UPDATE OR DELETE ON domains
      FOR EACH ROW EXECUTE FUNCTION record_link_change();
  `,

  /**
   * Disabled accounts, keys that end, are replaced and tell when they were used last, and removed domains. Everything is added,
   * without a default that would rewrite a table: instances of the version before continue to work on this schema, and see none of it.
   */
  operators: `
    ALTER TABLE accounts ADD COLUMN disabled_at bigint;
    ALTER TABLE api_keys ADD COLUMN expires_at bigint, ADD COLUMN replaced_by text; -- id of the key it was rotated to
    ALTER TABLE domains ADD COLUMN removed_at bigint;
    CREATE TRIGGER accounts_disabled AFTER UPDATE OF disabled_at ON accounts
      FOR EACH ROW EXECUTE FUNCTION record_link_change();

    CREATE TABLE key_uses (
      key_id text PRIMARY KEY,
      used_at bigint NOT NULL
    ) WITH (fillfactor = 50);
  `,

  /**
   * The most clicked links of each account, a bounded number of them, so that showing them reads a few rows however many links there
   * are. A link enters with its next click: ranking all links here would hold up a large database for a minute. So does a link that was
   * clicked at an instance of the version before.
   */
  'top links': `
    CREATE TABLE top_links (
      account_id text NOT NULL,
      code text COLLATE "C" NOT NULL,
      clicks bigint NOT NULL, -- when the link was last ranked
      PRIMARY KEY (account_id, code)
    ) WITH (fillfactor = 50);
  `,

  /**
   * The last write of clicks of each writer, so that one whose commit was in doubt is not counted again when it is repeated. Instances of the
   * version before continue to work on this schema.
   */
  'click writes': `
    CREATE TABLE click_writes (
      writer text PRIMARY KEY,
      number bigint NOT NULL,
      written_at bigint NOT NULL
    ) WITH (fillfactor = 50);
  `,

  /**
   * The number of each target (see `targetNumber`), by which links are found. Links that have none, those of before and those that an instance
   * of the version before creates, get theirs from `indexLinks`, in steps.
   */
  targets: {
    sql: `
    -- Creates wait behind this while it waits for a transaction that is open. It is tried again.
    SET LOCAL lock_timeout = 300;
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
  `,
    concurrently: [
      // One whose building was interrupted is invalid, so it is built again.
      'DROP INDEX CONCURRENTLY IF EXISTS links_target',
      'DROP INDEX CONCURRENTLY IF EXISTS links_without_number',
      'CREATE INDEX CONCURRENTLY links_target ON links (target_number, id) WHERE target_number IS NOT NULL',
      'CREATE INDEX CONCURRENTLY links_without_number ON links (code) WHERE target_number IS NULL',
    ],
  },

  /** Finds the links of a domain. Without it, removing a domain went through all links, and was ended after 5 s where there are many. */
  'domain links': {
    sql: '',
    concurrently: [
      'DROP INDEX CONCURRENTLY IF EXISTS links_domain',
      'CREATE INDEX CONCURRENTLY links_domain ON links (domain_id) WHERE domain_id IS NOT NULL',
    ],
  },

  ...minuteCounters,

  /** The links of one account or domain are forgotten where that one changes, not all links. Instances of the version before forget all of them. */
  'change owners': `
    ALTER TABLE link_changes ADD COLUMN IF NOT EXISTS owner text;
    ${RECORD_LINK_CHANGE}
    CREATE OR REPLACE TRIGGER domains_changed AFTER INSERT OR UPDATE OR DELETE ON domains
      FOR EACH ROW EXECUTE FUNCTION record_link_change();
    CREATE OR REPLACE TRIGGER accounts_disabled AFTER UPDATE OF disabled_at ON accounts
      FOR EACH ROW EXECUTE FUNCTION record_link_change();
  `,

  moving,
};
