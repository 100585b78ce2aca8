import type { Migration } from '../../migration.ts';

/**
 * Times are milliseconds since the epoch. `position` is insertion order, which is how lists are sorted. Text of clients
 * that may hold U+0000, which PostgreSQL's text can't, is kept as JSON.
 *
 * `links` has no foreign keys: checking one locks the referenced row, and every create of an account would meet there.
 * Nothing that a link refers to is ever deleted. Counters stand in narrow tables of their own, with room in each page, so
 * that an update rewrites a few bytes and no index.
 */
export const initial: Migration = {
  version: 1,
  name: 'initial',
  sql: `
    CREATE TABLE accounts (
      id text PRIMARY KEY,
      position bigint GENERATED ALWAYS AS IDENTITY,
      name text NOT NULL,
      plan text NOT NULL,
      limits text NOT NULL, -- JSON of PlanLimits
      created_at bigint NOT NULL
    );

    CREATE TABLE link_totals (
      account_id text PRIMARY KEY REFERENCES accounts (id),
      used bigint NOT NULL DEFAULT 0 -- quota slots taken, also by links of jobs that still run
    ) WITH (fillfactor = 50);

    CREATE TABLE api_keys (
      id text PRIMARY KEY,
      position bigint GENERATED ALWAYS AS IDENTITY,
      account_id text NOT NULL REFERENCES accounts (id),
      name text NOT NULL,
      permissions text NOT NULL, -- JSON array
      hash bytea NOT NULL UNIQUE, -- SHA-256 of the key, which itself is stored nowhere
      created_at bigint NOT NULL,
      revoked_at bigint
    );
    CREATE INDEX api_keys_account ON api_keys (account_id);

    CREATE TABLE domains (
      id text PRIMARY KEY,
      position bigint GENERATED ALWAYS AS IDENTITY,
      hostname text NOT NULL UNIQUE,
      account_id text NOT NULL REFERENCES accounts (id),
      created_at bigint NOT NULL
    );

    CREATE TABLE links (
      id uuid NOT NULL,
      created_at bigint NOT NULL,
      redirect_type smallint NOT NULL,
      is_active boolean NOT NULL DEFAULT true,
      code text COLLATE "C" PRIMARY KEY,
      account_id text NOT NULL,
      domain_id text, -- null is the default domain
      target_url text NOT NULL,
      title text, -- JSON string; null is the empty one
      tags text -- JSON array; null is the empty one
    );

    CREATE TABLE link_clicks (
      code text COLLATE "C" NOT NULL,
      slot smallint NOT NULL, -- see CLICK_SLOTS in operations/links.ts
      clicks bigint NOT NULL,
      PRIMARY KEY (code, slot)
    ) WITH (fillfactor = 80);

    CREATE TABLE request_counters (
      account_id text NOT NULL,
      period text NOT NULL, -- minute, day or month
      starts_at bigint NOT NULL,
      used bigint NOT NULL,
      PRIMARY KEY (account_id, period, starts_at)
    ) WITH (fillfactor = 50);
    CREATE INDEX request_counters_age ON request_counters (period, starts_at);

    CREATE TABLE key_requests (
      key_id text NOT NULL,
      day bigint NOT NULL, -- midnight UTC
      requests bigint NOT NULL,
      refused bigint NOT NULL,
      minute bigint NOT NULL, -- the last minute that saw a request
      minute_requests bigint NOT NULL, -- requests in that minute
      PRIMARY KEY (key_id, day)
    ) WITH (fillfactor = 50);
    CREATE INDEX key_requests_day ON key_requests (day);

    -- Apart from key_requests, so that an admission never waits for the disk behind a create of the same key.
    CREATE TABLE key_links (
      key_id text NOT NULL,
      day bigint NOT NULL,
      links bigint NOT NULL,
      refused bigint NOT NULL,
      PRIMARY KEY (key_id, day)
    ) WITH (fillfactor = 50);
    CREATE INDEX key_links_day ON key_links (day);

    CREATE TABLE key_refusals (
      key_id text NOT NULL,
      minute bigint NOT NULL, -- when it began
      reason text NOT NULL, -- the limit that refused
      count bigint NOT NULL,
      PRIMARY KEY (key_id, minute, reason)
    ) WITH (fillfactor = 80);
    CREATE INDEX key_refusals_minute ON key_refusals (minute);

    CREATE TABLE idempotency_records (
      account_id text NOT NULL,
      key text NOT NULL,
      fingerprint text NOT NULL,
      answer text, -- JSON; null while the create is under way, which only its own transaction sees
      created_at bigint NOT NULL,
      PRIMARY KEY (account_id, key)
    );
    CREATE INDEX idempotency_records_created_at ON idempotency_records (created_at);

    CREATE TABLE jobs (
      id text PRIMARY KEY,
      position bigint GENERATED ALWAYS AS IDENTITY,
      account_id text NOT NULL,
      total integer NOT NULL,
      processed integer NOT NULL DEFAULT 0,
      created_at bigint NOT NULL,
      completed_at bigint
    );
    CREATE INDEX jobs_completed_at ON jobs (completed_at);
    CREATE INDEX jobs_unfinished ON jobs (position) WHERE completed_at IS NULL;

    CREATE TABLE job_chunks (
      job_id text NOT NULL REFERENCES jobs (id),
      chunk integer NOT NULL,
      inputs text, -- JSON array of NewLink; null once the links exist
      results text, -- JSON of the result items, comma-separated, without the brackets
      PRIMARY KEY (job_id, chunk)
    );
  `,
};
