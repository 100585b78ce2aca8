import type { Migration } from '../../migration.ts';

/**
 * `link_changes` tells the caches of all instances which links to forget. The last thousand are kept: who missed more reads everything
 * again. The lock lasts until the commit, so that numbers follow the order of commits: whoever reads a number can also read all before it. Creates and
 * clicks change nothing that a redirect shows, and never meet there.
 *
 * The notification is for instances of the version before, which listen for it.
 */
export const linkChanges: Migration = {
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
