import { type Migration, type MigrationReport, readVersion } from '../migration.ts';
import { sql } from '../queries/reading.ts';
import { addedTables, initialTables, recordStep, refusalsTable } from '../tables.ts';
import type { Database } from './database.ts';

/** Wait between two steps, in which a server of the version before writes what it has, in milliseconds. */
const PAUSE_MS = 100;

const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);

/**
 * Brings the schema up to date, each step in a transaction of its own: a server on the database waits for one only. A new database gets all in
 * one. `pause` waits between two steps; a page shares its database with nobody, and must not wait.
 */
export function migrate(
  db: Database,
  migrations: readonly Migration[],
  now: number,
  mayMigrate = true,
  pause: () => unknown = wait,
): MigrationReport {
  const newest = migrations.at(-1)?.version ?? 0;
  const from = schemaVersion(db, migrations, mayMigrate);
  // The common case begins no transaction, which would wait for a writer in another process.
  for (let version = from; version < newest; ) {
    version = runSteps(db, migrations, now);
    if (version < newest) pause();
  }
  return { from, to: newest };
}

/** Runs the next step, or all in an empty database, and returns the version that is reached. */
function runSteps(db: Database, migrations: readonly Migration[], now: number): number {
  db.exec('BEGIN IMMEDIATE');
  try {
    const from = schemaVersion(db);
    const missing = migrations.filter(({ version }) => version > from);
    const steps = from === 0 ? missing : missing.slice(0, 1);
    for (const step of steps) db.exec(`${step.sql}; ${recordStep('sqlite', step, now)}`);
    db.exec('COMMIT');
    return steps.at(-1)?.version ?? from;
  } catch (error) {
    db.rollback();
    throw error;
  }
}

export function schemaVersion(db: Database, steps?: readonly Migration[], mayMigrate?: boolean) {
  const tables = sql`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`;
  return db.read(readVersion(db.path, tables, steps, mayMigrate));
}

/** A trigger that records what changed (see `link_changes`). */
const changesOf = (table: string, event: string, column: 'code' | 'owner', value: string) => `
    CREATE TRIGGER ${table}_${event.replace(/ .*/, '').toLowerCase()} AFTER ${event} ON ${table} BEGIN
      INSERT INTO link_changes (${column}) VALUES (${value});
    END;`;

/** Everything is only added, so that a server of the version before continues to work. Versions 3 to 14 were never released. */
export const migrations: readonly Migration[] = [
  /** `rowid` order is insertion order, in which lists are sorted. Links are found by code only, so that a link costs one index entry. */
  {
    version: 1,
    name: 'initial',
    sql: `
    ${initialTables('sqlite')}
    CREATE TABLE links (
      code TEXT NOT NULL UNIQUE,
      id TEXT NOT NULL,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      domain_id TEXT REFERENCES domains (id), -- null is the default domain
      target_url TEXT NOT NULL,
      title TEXT NOT NULL,
      redirect_type INTEGER NOT NULL,
      is_active INTEGER NOT NULL DEFAULT 1,
      click_count INTEGER NOT NULL DEFAULT 0,
      tags TEXT NOT NULL, -- JSON array
      created_at INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE key_days (
      key_id TEXT NOT NULL,
      day INTEGER NOT NULL, -- midnight UTC
      requests INTEGER NOT NULL,
      refused INTEGER NOT NULL,
      links INTEGER NOT NULL,
      minute INTEGER NOT NULL, -- the last minute that saw a request
      minute_requests INTEGER NOT NULL, -- requests in that minute
      PRIMARY KEY (key_id, day)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX key_days_day ON key_days (day);
  `,
  },

  { version: 2, name: 'key refusals', sql: refusalsTable('sqlite') },

  /** Clicks are apart from `links`, whose rows are ten times as large. Those that the version before counts stay in `links.click_count`. */
  {
    version: 15,
    name: 'shared tables',
    sql: `
    ${addedTables('sqlite')}
    CREATE TABLE link_clicks (
      code TEXT NOT NULL,
      slot INTEGER NOT NULL DEFAULT 0, -- PostgreSQL has several
      clicks INTEGER NOT NULL,
      PRIMARY KEY (code, slot)
    ) STRICT, WITHOUT ROWID;
    ALTER TABLE request_counters ADD COLUMN period TEXT GENERATED ALWAYS AS (window) VIRTUAL;

    -- Names under which both engines read the same rows (see store/queries/).
    CREATE VIEW request_windows AS SELECT account_id, period, starts_at, used FROM request_counters;
    CREATE VIEW link_totals AS SELECT id AS account_id, links_used AS used FROM accounts;
    CREATE TRIGGER link_totals_inserted INSTEAD OF INSERT ON link_totals BEGIN
      SELECT 'The total begins with the row of the account.';
    END;
    CREATE TRIGGER link_totals_updated INSTEAD OF UPDATE ON link_totals BEGIN
      UPDATE accounts SET links_used = NEW.used WHERE id = NEW.account_id;
    END;

    -- SQLite has one writer at a time, so numbers follow the order of commits.
    CREATE TRIGGER link_changes_bound AFTER INSERT ON link_changes BEGIN
      DELETE FROM link_changes WHERE number <= NEW.number - 1000;
    END;
    ${changesOf('links', 'UPDATE OF code, target_url, redirect_type, is_active, domain_id', 'code', 'OLD.code')}
    ${changesOf('links', 'DELETE', 'code', 'OLD.code')}
    ${changesOf('domains', 'INSERT', 'owner', 'NEW.id')}
    ${changesOf('domains', 'UPDATE', 'owner', 'NEW.id')}
    ${changesOf('domains', 'DELETE', 'owner', 'OLD.id')}
    ${changesOf('accounts', 'UPDATE OF disabled_at', 'owner', 'NEW.id')}

    -- Finds counters of windows that are past their retention. Only the first request of an account in a window writes to it.
    CREATE INDEX request_counters_age ON request_counters (period, starts_at);
  `,
  },

  /** The number of each target, by which links are found, oldest first. Links without one, of the version before, get theirs from `indexLinks`. */
  {
    version: 16,
    name: 'targets',
    sql: `
    ALTER TABLE links ADD COLUMN target_number INTEGER;
    -- The beginning of an id is its time. As bytes, it takes half of the room that its text does: 5% of the file.
    CREATE INDEX links_target ON links (target_number, unhex(substr(id, 1, 13), '-')) WHERE target_number IS NOT NULL;
    CREATE TRIGGER links_retargeted AFTER UPDATE OF target_url, domain_id ON links
      WHEN (NEW.target_url, NEW.domain_id) IS NOT (OLD.target_url, OLD.domain_id) BEGIN
      UPDATE links SET target_number = NULL WHERE rowid = NEW.rowid;
    END;

    CREATE VIEW link_details AS
      SELECT code, id, account_id, domain_id, target_url, json_quote(title) AS title, redirect_type, is_active, tags, created_at,
        click_count + (SELECT coalesce(sum(clicks), 0) FROM link_clicks WHERE link_clicks.code = links.code) AS click_count,
        target_number, unhex(substr(id, 1, 13), '-') AS id_ms
      FROM links; -- titles are read as JSON strings
  `,
  },

  /** A step of its own, since other writes wait for each step, and on a large database this index has every link at first. */
  {
    version: 17,
    name: 'links without a number',
    sql: 'CREATE INDEX links_without_number ON links (target_number) WHERE target_number IS NULL',
  },

  /** Finds the links of a domain. Without it, removing a domain went through all links while every other write waited. */
  {
    version: 18,
    name: 'domain links',
    sql: 'CREATE INDEX links_domain ON links (domain_id) WHERE domain_id IS NOT NULL',
  },
];
