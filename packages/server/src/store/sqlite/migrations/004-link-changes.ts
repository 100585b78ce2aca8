import type { Migration } from '../../migration.ts';

/**
 * `link_changes` tells caches which links to forget. SQLite has one writer at a time, so numbers follow the order of commits. The last
 * thousand are kept: a reader that missed more than that reads everything again.
 *
 * `link_clicks` holds clicks apart from `links`, whose rows are ten times as large: clicks on many links rewrote most of their pages.
 * Clicks that were counted before, or by a process of the version before, stay in `links.click_count`; reads add both.
 */
export const linkChanges: Migration = {
  version: 4,
  name: 'link changes',
  sql: `
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
    CREATE TRIGGER domains_inserted AFTER INSERT ON domains BEGIN
      INSERT INTO link_changes (code) VALUES (NULL);
    END;
    CREATE TRIGGER domains_updated AFTER UPDATE ON domains BEGIN
      INSERT INTO link_changes (code) VALUES (NULL);
    END;
    CREATE TRIGGER domains_deleted AFTER DELETE ON domains BEGIN
      INSERT INTO link_changes (code) VALUES (NULL);
    END;

    CREATE TABLE link_clicks (
      code TEXT PRIMARY KEY,
      clicks INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE VIEW link_details AS
      SELECT code, id, account_id, domain_id, target_url, json_quote(title) AS title, redirect_type, is_active, tags, created_at,
        click_count + coalesce((SELECT clicks FROM link_clicks WHERE link_clicks.code = links.code), 0) AS click_count
      FROM links; -- titles are read as JSON strings
  `,
};
