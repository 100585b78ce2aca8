import type { Migration } from '../../migration.ts';

/**
 * Times are milliseconds since the epoch. `rowid` order is insertion order, which is how lists are sorted. Links are found by
 * code only, so that a link costs one index entry.
 */
export const initial: Migration = {
  version: 1,
  name: 'initial',
  sql: `
    CREATE TABLE accounts (
      id TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      plan TEXT NOT NULL,
      limits TEXT NOT NULL, -- JSON of PlanLimits
      links_used INTEGER NOT NULL DEFAULT 0, -- quota slots taken, also by links of jobs that still run
      created_at INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE api_keys (
      id TEXT NOT NULL UNIQUE,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      name TEXT NOT NULL,
      permissions TEXT NOT NULL, -- JSON array
      hash BLOB NOT NULL UNIQUE, -- SHA-256 of the key, which itself is stored nowhere
      created_at INTEGER NOT NULL,
      revoked_at INTEGER
    ) STRICT;
    CREATE INDEX api_keys_account ON api_keys (account_id);

    CREATE TABLE domains (
      id TEXT NOT NULL UNIQUE,
      hostname TEXT NOT NULL UNIQUE,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      created_at INTEGER NOT NULL
    ) STRICT;

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

    CREATE TABLE request_counters (
      account_id TEXT NOT NULL,
      window TEXT NOT NULL,
      starts_at INTEGER NOT NULL,
      used INTEGER NOT NULL,
      PRIMARY KEY (account_id, window, starts_at)
    ) STRICT, WITHOUT ROWID;

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

    CREATE TABLE idempotency_records (
      account_id TEXT NOT NULL,
      key TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      answer TEXT NOT NULL, -- JSON
      created_at INTEGER NOT NULL,
      UNIQUE (account_id, key)
    ) STRICT;
    CREATE INDEX idempotency_records_created_at ON idempotency_records (created_at);

    CREATE TABLE jobs (
      id TEXT NOT NULL UNIQUE,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      total INTEGER NOT NULL,
      processed INTEGER NOT NULL DEFAULT 0,
      created_at INTEGER NOT NULL,
      completed_at INTEGER
    ) STRICT;
    CREATE INDEX jobs_completed_at ON jobs (completed_at);

    CREATE TABLE job_chunks (
      job_id TEXT NOT NULL REFERENCES jobs (id),
      chunk INTEGER NOT NULL,
      inputs TEXT, -- JSON array of NewLink; null once the links exist
      results TEXT, -- JSON of the result items, comma-separated, without the brackets
      UNIQUE (job_id, chunk)
    ) STRICT;
  `,
};
