import type { Migration } from './migration.ts';

/**
 * How an engine says what its tables are made of. They are read by the same names on both engines, through views where they differ for a
 * reason: an instance of version 0.1.0 may write to the same database until it is replaced, and no view takes its upserts on SQLite.
 *
 * - A window is a `period`. SQLite stores it as `window`, as 0.1.0 does, which is no name of a column on PostgreSQL.
 * - `link_totals` is a table on PostgreSQL, since creates lock its rows. SQLite's 0.1.0 counts links in `accounts`.
 * - `key_days` is one table on SQLite. On PostgreSQL its parts are apart, so that an admission never waits for the disk behind a create
 *   of the same key.
 * - PostgreSQL's text can't hold U+0000, which titles of 0.1.0 may, so it stores them as JSON. SQLite has them as 0.1.0 reads them.
 */
const WORDS = {
  sqlite: {
    int: 'INTEGER', // 64 bits
    bytes: 'BLOB',
    id: 'TEXT NOT NULL UNIQUE', // of a row in a table that is read in the order of insertion
    code: 'text', // in the order of its bytes
    position: 'INTEGER PRIMARY KEY', // the number of a row in the order of insertion
    answer: 'TEXT NOT NULL', // empty on PostgreSQL's 0.1.0 while the create is under way
    key: 'UNIQUE', // of a table that may be empty of everything else
    window: 'window',
    total:
      'links_used INTEGER NOT NULL DEFAULT 0, -- quota slots taken, also by links of jobs that still run',
    ofAccount: ' REFERENCES accounts (id)', // follows the id of the account of a job
    // How a table ends that is read in the order of insertion, whose rows are found by their key, or that often changes.
    ordered: 'STRICT',
    keyed: 'STRICT, WITHOUT ROWID',
    changing: 'STRICT, WITHOUT ROWID',
  },
  postgres: {
    int: 'bigint',
    bytes: 'bytea',
    id: 'text PRIMARY KEY, position bigint GENERATED ALWAYS AS IDENTITY',
    code: 'text COLLATE "C"',
    position: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
    answer: 'text',
    key: 'PRIMARY KEY',
    window: 'period',
    total: '',
    ofAccount: '',
    ordered: '',
    keyed: '',
    changing: 'WITH (fillfactor = 50)',
  },
};

type EngineName = keyof typeof WORDS;

/** Records that a step of the schema was carried out. */
export function recordStep(engine: EngineName, { version, name }: Migration, now: number): string {
  const { int, ordered } = WORDS[engine];
  return `
    CREATE TABLE IF NOT EXISTS schema_migrations (
      version INTEGER PRIMARY KEY,
      name TEXT NOT NULL,
      applied_at ${int} NOT NULL
    ) ${ordered};
    INSERT INTO schema_migrations (version, name, applied_at) VALUES (${version}, '${name}', ${now});
  `;
}

/** The tables that both engines have had from the beginning. Times are milliseconds since the epoch. */
export function initialTables(engine: EngineName): string {
  const { int, bytes, id, answer, key, window, total, ofAccount, ordered, changing } =
    WORDS[engine];
  return `
    CREATE TABLE accounts (
      id ${id},
      name TEXT NOT NULL,
      plan TEXT NOT NULL,
      limits TEXT NOT NULL, -- JSON of PlanLimits
      ${total}
      created_at ${int} NOT NULL
    ) ${ordered};

    CREATE TABLE api_keys (
      id ${id},
      account_id TEXT NOT NULL REFERENCES accounts (id),
      name TEXT NOT NULL,
      permissions TEXT NOT NULL, -- JSON array
      hash ${bytes} NOT NULL UNIQUE, -- SHA-256 of the key, which itself is stored nowhere
      created_at ${int} NOT NULL,
      revoked_at ${int}
    ) ${ordered};
    CREATE INDEX api_keys_account ON api_keys (account_id);

    CREATE TABLE domains (
      id ${id},
      hostname TEXT NOT NULL UNIQUE,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      created_at ${int} NOT NULL
    ) ${ordered};

    CREATE TABLE request_counters (
      account_id TEXT NOT NULL,
      ${window} TEXT NOT NULL, -- minute, day or month
      starts_at ${int} NOT NULL,
      used ${int} NOT NULL,
      PRIMARY KEY (account_id, ${window}, starts_at)
    ) ${changing};

    CREATE TABLE idempotency_records (
      account_id TEXT NOT NULL,
      key TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      answer ${answer}, -- JSON
      created_at ${int} NOT NULL,
      ${key} (account_id, key)
    ) ${ordered};
    CREATE INDEX idempotency_records_created_at ON idempotency_records (created_at);

    CREATE TABLE jobs (
      id ${id},
      account_id TEXT NOT NULL${ofAccount},
      total INTEGER NOT NULL,
      processed INTEGER NOT NULL DEFAULT 0,
      created_at ${int} NOT NULL,
      completed_at ${int}
    ) ${ordered};
    CREATE INDEX jobs_completed_at ON jobs (completed_at);

    CREATE TABLE job_chunks (
      job_id TEXT NOT NULL REFERENCES jobs (id),
      chunk INTEGER NOT NULL,
      inputs TEXT, -- JSON array of NewLink; null once the links exist
      results TEXT, -- JSON of the result items, comma-separated, without the brackets
      ${key} (job_id, chunk)
    ) ${ordered};
  `;
}

/** Refusals of each key, which came to SQLite after the others. */
export function refusalsTable(engine: EngineName): string {
  const { int, changing } = WORDS[engine];
  return `
    CREATE TABLE key_refusals (
      key_id TEXT NOT NULL,
      minute ${int} NOT NULL, -- when it began
      reason TEXT NOT NULL, -- the limit that refused
      count ${int} NOT NULL,
      PRIMARY KEY (key_id, minute, reason)
    ) ${changing};
    CREATE INDEX key_refusals_minute ON key_refusals (minute);
  `;
}

/** The columns and tables that both engines have had since 0.1.0. */
export function addedTables(engine: EngineName): string {
  const { int, code, position, ordered, keyed, changing } = WORDS[engine];
  return `
    ALTER TABLE accounts ADD COLUMN disabled_at ${int};
    ALTER TABLE api_keys ADD COLUMN expires_at ${int};
    ALTER TABLE api_keys ADD COLUMN replaced_by text; -- id of the key it was rotated to
    ALTER TABLE domains ADD COLUMN removed_at ${int};
    CREATE INDEX domains_account ON domains (account_id);

    CREATE TABLE key_uses (
      key_id text NOT NULL PRIMARY KEY,
      used_at ${int} NOT NULL
    ) ${changing};

    -- Tells the caches of all instances which links to forget. At least the last thousand are kept: a reader that missed more reads everything again.
    CREATE TABLE link_changes (
      number ${position},
      code text, -- with no owner, null stands for all links
      owner text -- id of the account or domain whose links changed
    ) ${ordered};
    INSERT INTO link_changes (code) VALUES (NULL);

    -- A bounded number of links of each account, so that showing the most clicked ones reads a few rows. A link enters with its next
    -- click: ranking all links here would hold up a large database for a minute.
    CREATE TABLE top_links (
      account_id text NOT NULL,
      code ${code} NOT NULL,
      clicks ${int} NOT NULL, -- when the link was last ranked
      PRIMARY KEY (account_id, code)
    ) ${changing};

    -- The last write of each writer, so that one whose commit was in doubt is not carried out again when it is repeated.
    CREATE TABLE click_writes (
      writer text NOT NULL PRIMARY KEY,
      number ${int} NOT NULL,
      written_at ${int} NOT NULL
    ) ${changing};

    -- The addresses that links had before: paths of a domain, as canonicalPath writes them.
    CREATE TABLE aliases (
      domain_id ${code} NOT NULL, -- '' is the default domain
      path ${code} NOT NULL,
      code ${code} NOT NULL,
      PRIMARY KEY (domain_id, path)
    ) ${keyed};
    CREATE INDEX aliases_code ON aliases (code);

    CREATE TABLE corrections (
      number ${position},
      code ${code} NOT NULL,
      at ${int} NOT NULL,
      made_by text NOT NULL,
      old_target text NOT NULL,
      new_target text NOT NULL,
      old_title text NOT NULL, -- JSON string
      new_title text NOT NULL
    ) ${ordered};
    CREATE INDEX corrections_code ON corrections (code);
  `;
}
