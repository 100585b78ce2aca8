import type { Migration } from '../../migration.ts';

/**
 * The number of each target (see `targetNumber`), by which links are found. Links that have none, those of before and those that an instance
 * of the version before creates, get theirs from `indexLinks`, in steps.
 */
export const targets: Migration = {
  version: 8,
  name: 'targets',
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
};

/** Finds the links of a domain. Without it, removing a domain went through all links, and was ended after 5 s where there are many. */
export const domainLinks: Migration = {
  version: 9,
  name: 'domain links',
  sql: '',
  concurrently: [
    'DROP INDEX CONCURRENTLY IF EXISTS links_domain',
    'CREATE INDEX CONCURRENTLY links_domain ON links (domain_id) WHERE domain_id IS NOT NULL',
  ],
};
