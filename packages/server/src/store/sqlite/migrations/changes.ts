import type { Steps } from '../../migration.ts';

/** The steps of the schema since the first one, in order. */
export const changes: Steps = {
  /** Which limit refused a key's requests, by the minute, for the usage answer and the analytics page. */
  'key refusals': `
    CREATE TABLE key_refusals (
      key_id TEXT NOT NULL,
      minute INTEGER NOT NULL, -- when it began
      reason TEXT NOT NULL,
      count INTEGER NOT NULL,
      PRIMARY KEY (key_id, minute, reason)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX key_refusals_minute ON key_refusals (minute);
  `,

  /**
   * Names under which both engines read the same rows (see `store/queries/`). Views only: processes of the version before this one
   * continue to work.
   */
  'shared reads': `
    CREATE INDEX domains_account ON domains (account_id);

    CREATE VIEW request_windows AS SELECT account_id, window AS name, starts_at, used FROM request_counters;
    CREATE VIEW link_totals AS SELECT id AS account_id, links_used AS used FROM accounts;
    CREATE VIEW key_requests AS SELECT key_id, day, requests, refused, minute, minute_requests FROM key_days;
    -- The refusals of both kinds are counted in key_requests.
    CREATE VIEW key_links AS SELECT key_id, day, links, 0 AS refused FROM key_days;
  `,

  /**
   * `link_changes` tells caches which links to forget. SQLite has one writer at a time, so numbers follow the order of commits. The last
   * thousand are kept: a reader that missed more than that reads everything again.
   *
   * `link_clicks` holds clicks apart from `links`, whose rows are ten times as large: clicks on many links rewrote most of their pages.
   * Clicks that were counted before, or by a process of the version before, stay in `links.click_count`; reads add both.
   */
  'link changes': `
    CREATE TABLE link_changes (
      number INTEGER PRIMARY KEY,
      code TEXT -- null stands for all links
    ) STRICT;
    INSERT INTO link_changes (code) VALUES (NULL);
    CREATE TRIGGER link_changes_bound AFTER INSERT ON link_changes BEGIN
      DELETE FROM link_changes WHERE number <= NEW.number - 1000;
    END;

    CREATE TRIGGER links_updated AFTER UPDATE OF code, target_url, redirect_type, is_active, domain_id ON links BEGIN
      INSERT INTO link_changes (code) VALUES (OLD.code);
    END;
    CREATE TRIGGER links_deleted AFTER DELETE ON links BEGIN
      INSERT INTO link_changes (code) VALUES (OLD.code);
    END;
    -- Those of domains and accounts are made by step 12.

    CREATE TABLE link_clicks (
      code TEXT PRIMARY KEY,
      clicks INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,

  /**
   * Disabled accounts, keys that end, are replaced and tell when they were used last, and removed domains. Everything is added:
   * a server of the version before continues to work on this schema, and sees none of it.
   */
  operators: `
    ALTER TABLE accounts ADD COLUMN disabled_at INTEGER;
    ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
    ALTER TABLE api_keys ADD COLUMN replaced_by TEXT; -- id of the key it was rotated to
    ALTER TABLE domains ADD COLUMN removed_at INTEGER;

    CREATE TABLE key_uses (
      key_id TEXT NOT NULL PRIMARY KEY,
      used_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,

  /**
   * The most clicked links of each account, a bounded number of them, so that showing them reads a few rows however many links there
   * are. A link enters with its next click: ranking all links here would hold up a large database for a minute. So does a link that was
   * clicked at an instance of the version before.
   */
  'top links': `
    CREATE TABLE top_links (
      account_id TEXT NOT NULL,
      code TEXT NOT NULL,
      clicks INTEGER NOT NULL, -- when the link was last ranked
      PRIMARY KEY (account_id, code)
    ) STRICT, WITHOUT ROWID;
  `,

  /**
   * The last write of clicks of each writer, so that one whose commit was in doubt is not counted again when it is repeated. A server of the
   * version before continues to work on this schema.
   */
  'click writes': `
    CREATE TABLE click_writes (
      writer TEXT NOT NULL PRIMARY KEY,
      number INTEGER NOT NULL,
      written_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,

  /**
   * Finds counters of windows that are past their retention. Without it, each step of the housekeeping went through all counters while
   * every other write waited. Only the first request of an account in a window writes to it. A server of the version before continues to
   * work on this schema.
   */
  'counter age': 'CREATE INDEX request_counters_age ON request_counters (window, starts_at)',

  /**
   * The number of each target (see `targetNumber`), by which links are found, oldest first. Links that have none, those of before and those
   * that a server of the version before creates, get theirs from `indexLinks`, in steps: each of these links is in a block that is listed.
   */
  targets: `
    ALTER TABLE links ADD COLUMN target_number INTEGER;
    -- The beginning of an id is its time.
    CREATE INDEX links_target ON links (target_number, substr(id, 1, 13)) WHERE target_number IS NOT NULL;

    CREATE TABLE unnumbered_links (block INTEGER PRIMARY KEY) STRICT; -- 1,024 rowids
    INSERT INTO unnumbered_links
      WITH RECURSIVE blocks (block) AS (
        SELECT max(rowid) >> 10 FROM links UNION ALL SELECT block - 1 FROM blocks WHERE block > 0)
      SELECT block FROM blocks WHERE block IS NOT NULL;
    CREATE TRIGGER links_unnumbered AFTER INSERT ON links WHEN NEW.target_number IS NULL BEGIN
      INSERT OR IGNORE INTO unnumbered_links VALUES (NEW.rowid >> 10);
    END;
    CREATE TRIGGER links_retargeted AFTER UPDATE OF target_url, domain_id ON links
      WHEN (NEW.target_url, NEW.domain_id) IS NOT (OLD.target_url, OLD.domain_id) BEGIN
      UPDATE links SET target_number = NULL WHERE rowid = NEW.rowid;
      INSERT OR IGNORE INTO unnumbered_links VALUES (NEW.rowid >> 10);
    END;

    DROP VIEW IF EXISTS link_details;
    CREATE VIEW link_details AS
      SELECT code, id, account_id, domain_id, target_url, json_quote(title) AS title, redirect_type, is_active, tags, created_at,
        click_count + coalesce((SELECT clicks FROM link_clicks WHERE link_clicks.code = links.code), 0) AS click_count,
        target_number, substr(id, 1, 13) AS id_time
      FROM links; -- titles are read as JSON strings
  `,

  /** Finds the links of a domain. Without it, removing a domain went through all links while every other write waited. */
  'domain links': 'CREATE INDEX links_domain ON links (domain_id) WHERE domain_id IS NOT NULL',

  /** The name under which both engines read the requests of keys. A view only. */
  'key activity':
    'CREATE VIEW key_activity AS SELECT key_id, day, requests, refused, minute, minute_requests FROM key_days',

  /** The links of one account or domain are forgotten where that one changes, not all links. A server of the version before forgets all of them. */
  'change owners': `
    ALTER TABLE link_changes ADD COLUMN owner TEXT; -- id of the account or domain whose links changed
    ${['domains_inserted', 'domains_updated', 'domains_deleted', 'accounts_disabled'].map((name) => `DROP TRIGGER IF EXISTS ${name};`).join('\n')}
    CREATE TRIGGER domains_inserted AFTER INSERT ON domains BEGIN
      INSERT INTO link_changes (owner) VALUES (NEW.id);
    END;
    CREATE TRIGGER domains_updated AFTER UPDATE ON domains BEGIN
      INSERT INTO link_changes (owner) VALUES (NEW.id);
    END;
    CREATE TRIGGER domains_deleted AFTER DELETE ON domains BEGIN
      INSERT INTO link_changes (owner) VALUES (OLD.id);
    END;
    CREATE TRIGGER accounts_disabled AFTER UPDATE OF disabled_at ON accounts BEGIN
      INSERT INTO link_changes (owner) VALUES (NEW.id);
    END;
  `,

  /**
   * Links that came from elsewhere, and corrected ones. An alias is the address that a link had before: a path of a domain, as `canonicalPath`
   * writes it. Everything is added: a server of the version before continues to work on this schema.
   */
  moving: `
    CREATE TABLE aliases (
      domain_id TEXT NOT NULL, -- '' is the default domain
      path TEXT NOT NULL,
      code TEXT NOT NULL,
      PRIMARY KEY (domain_id, path)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX aliases_code ON aliases (code);

    CREATE TABLE corrections (
      number INTEGER PRIMARY KEY,
      code TEXT NOT NULL,
      at INTEGER NOT NULL,
      made_by TEXT NOT NULL,
      old_target TEXT NOT NULL,
      new_target TEXT NOT NULL,
      old_title TEXT NOT NULL, -- JSON string
      new_title TEXT NOT NULL
    ) STRICT;
    CREATE INDEX corrections_code ON corrections (code);

    CREATE TRIGGER link_totals_updated INSTEAD OF UPDATE ON link_totals BEGIN
      UPDATE accounts SET links_used = NEW.used WHERE id = NEW.account_id;
    END;
  `,
};
