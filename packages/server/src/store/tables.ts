import type { Migration } from './migration.ts';

/** How an engine says what its tables are made of. */
const WORDS = {
  sqlite: {
    int: 'INTEGER', // 64 bits
    small: 'INTEGER',
    bool: 'INTEGER', // SQLite has no booleans
    bytes: 'BLOB',
    uuid: 'TEXT',
    code: 'TEXT', // in the order of its bytes
    id: 'TEXT NOT NULL UNIQUE', // of a row in a table that is read in the order of insertion, its rowid
    key: 'UNIQUE', // as a primary key would be, in a table that keeps the order of insertion
    position: 'INTEGER PRIMARY KEY', // the number of a row in the order of insertion
    // The beginning of an id is its time. As bytes, it takes half of the room that its text does: 5% of the file.
    idTime: "unhex(substr(id, 1, 13), '-')",
    // How a table ends that is read in the order of insertion, whose rows are found by their key, or that often changes.
    ordered: 'STRICT',
    keyed: 'STRICT, WITHOUT ROWID',
    changing: 'STRICT, WITHOUT ROWID',
  },
  postgres: {
    int: 'bigint',
    small: 'smallint',
    bool: 'boolean',
    bytes: 'bytea',
    uuid: 'uuid',
    code: 'text COLLATE "C"',
    id: 'text PRIMARY KEY, rowid bigint GENERATED ALWAYS AS IDENTITY',
    key: 'PRIMARY KEY',
    position: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
    idTime: 'id',
    ordered: '',
    keyed: '',
    changing: 'WITH (fillfactor = 50)',
  },
};

type EngineName = keyof typeof WORDS;
type Words = (typeof WORDS)[EngineName];

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

const accountTables = ({ int, bytes, id, ordered, changing }: Words) => `
    CREATE TABLE accounts (
      id ${id},
      name TEXT NOT NULL,
      plan TEXT NOT NULL,
      limits TEXT NOT NULL, -- JSON of PlanLimits
      created_at ${int} NOT NULL,
      disabled_at ${int}
    ) ${ordered};

    CREATE TABLE link_totals (
      account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (id),
      used ${int} NOT NULL DEFAULT 0 -- quota slots taken, also by links of jobs that still run
    ) ${changing};

    CREATE TABLE api_keys (
      id ${id},
      account_id TEXT NOT NULL REFERENCES accounts (id),
      name TEXT NOT NULL,
      permissions TEXT NOT NULL, -- JSON array
      hash ${bytes} NOT NULL UNIQUE, -- SHA-256 of the key, which itself is stored nowhere
      created_at ${int} NOT NULL,
      revoked_at ${int},
      expires_at ${int},
      replaced_by TEXT -- id of the key it was rotated to
    ) ${ordered};
    CREATE INDEX api_keys_account ON api_keys (account_id);

    CREATE TABLE key_uses (
      key_id TEXT NOT NULL PRIMARY KEY,
      used_at ${int} NOT NULL
    ) ${changing};

    CREATE TABLE domains (
      id ${id},
      hostname TEXT NOT NULL UNIQUE,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      created_at ${int} NOT NULL,
      removed_at ${int}
    ) ${ordered};
    CREATE INDEX domains_account ON domains (account_id);
  `;

/** `links` has no foreign keys: PostgreSQL locks the row that one refers to, where every create of an account would meet, and none is ever deleted. */
const linkTables = ({ int, small, bool, uuid, code, key, idTime, ordered, changing }: Words) => `
    CREATE TABLE links (
      id ${uuid} NOT NULL,
      created_at ${int} NOT NULL,
      target_number ${int} NOT NULL, -- see targetNumber
      redirect_type ${small} NOT NULL,
      is_active ${bool} NOT NULL,
      code ${code} NOT NULL ${key},
      account_id TEXT NOT NULL,
      domain_id TEXT, -- null is the default domain
      target_url TEXT NOT NULL,
      title TEXT NOT NULL,
      tags TEXT NOT NULL -- JSON array
    ) ${ordered};
    CREATE INDEX links_target ON links (target_number, ${idTime});
    CREATE INDEX links_domain ON links (domain_id) WHERE domain_id IS NOT NULL;

    -- Counters stand in narrow tables, so that an update rewrites few bytes and no index.
    CREATE TABLE link_clicks (
      code ${code} NOT NULL,
      slot ${small} NOT NULL DEFAULT 0, -- PostgreSQL has several, see CLICK_SLOTS
      clicks ${int} NOT NULL,
      PRIMARY KEY (code, slot)
    ) ${changing};
    CREATE VIEW link_details AS
      SELECT code, id, ${idTime} AS id_time, account_id, domain_id, target_url, target_number, title, redirect_type, is_active, tags, created_at,
        (SELECT CAST(coalesce(sum(clicks), 0) AS bigint) FROM link_clicks WHERE link_clicks.code = links.code) AS click_count
      FROM links;

    -- A bounded number of links of each account, so that showing the most clicked ones reads a few rows.
    CREATE TABLE top_links (
      account_id TEXT NOT NULL,
      code ${code} NOT NULL,
      clicks ${int} NOT NULL, -- when the link was last ranked
      PRIMARY KEY (account_id, code)
    ) ${changing};
  `;

const historyTables = ({ int, code, position, ordered, keyed, changing }: Words) => `
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
      made_by TEXT NOT NULL,
      old_target TEXT NOT NULL,
      new_target TEXT NOT NULL,
      old_title TEXT NOT NULL,
      new_title TEXT NOT NULL
    ) ${ordered};
    CREATE INDEX corrections_code ON corrections (code);

    -- Tells the caches of all instances which links to forget. At least the last thousand are kept: a reader that missed more reads everything again.
    CREATE TABLE link_changes (
      number ${position},
      code TEXT, -- with no owner, null stands for all links
      owner TEXT -- id of the account or domain whose links changed
    ) ${ordered};
    INSERT INTO link_changes (code) VALUES (NULL);

    -- The last write of each writer, so that one whose commit was in doubt is not carried out again when it is repeated.
    CREATE TABLE click_writes (
      writer TEXT NOT NULL PRIMARY KEY,
      number ${int} NOT NULL,
      written_at ${int} NOT NULL
    ) ${changing};
  `;

const requestTables = ({ int, id, key, ordered, changing }: Words) => `
    CREATE TABLE request_counters (
      account_id TEXT NOT NULL,
      period TEXT NOT NULL, -- minute, day or month
      starts_at ${int} NOT NULL,
      used ${int} NOT NULL,
      PRIMARY KEY (account_id, period, starts_at)
    ) ${changing};
    -- Finds those that are past their retention. Only the first request of an account in a window writes to it.
    CREATE INDEX request_counters_age ON request_counters (period, starts_at);

    CREATE TABLE key_refusals (
      key_id TEXT NOT NULL,
      minute ${int} NOT NULL, -- when it began
      reason TEXT NOT NULL, -- the limit that refused
      count ${int} NOT NULL,
      PRIMARY KEY (key_id, minute, reason)
    ) ${changing};
    CREATE INDEX key_refusals_minute ON key_refusals (minute);

    CREATE TABLE idempotency_records (
      account_id TEXT NOT NULL,
      key TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      answer TEXT NOT NULL, -- JSON; empty while the create is under way
      created_at ${int} NOT NULL,
      ${key} (account_id, key)
    ) ${ordered};
    CREATE INDEX idempotency_records_created_at ON idempotency_records (created_at);

    CREATE TABLE jobs (
      id ${id},
      account_id TEXT NOT NULL,
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

/** The tables of both engines. Times are milliseconds since the epoch. */
export const sharedTables = (engine: EngineName) =>
  [accountTables, linkTables, historyTables, requestTables]
    .map((part) => part(WORDS[engine]))
    .join('');
