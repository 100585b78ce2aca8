/**
 * A request writes one row, that of its key and minute. Day and month get the requests of a minute when the next one begins. Otherwise each would
 * leave old versions of four rows behind, which PostgreSQL passes over while a snapshot is open, such as that of `pg_dump`.
 *
 * Every call locks the row of the month, so that calls of all instances follow each other. It says which minute is open; requests of an earlier
 * one, from a clock that is behind, are rolled up at once. So all rows of `request_minutes` are of the open minute. Months are locked from the last
 * to the first. The parts of `key_days` are apart, so that an admission never waits for the disk behind a create of the same key.
 */
export const minuteCounters = `
    CREATE TABLE request_minutes (
      account_id text NOT NULL,
      minute bigint NOT NULL, -- when it began, as day and month
      key_id text NOT NULL,
      day bigint NOT NULL,
      month bigint NOT NULL,
      requests bigint NOT NULL,
      refused bigint NOT NULL,
      PRIMARY KEY (account_id, minute, key_id)
    ) WITH (fillfactor = 50);
    CREATE INDEX request_minutes_key ON request_minutes (key_id);
    ALTER TABLE request_counters ADD COLUMN open_minute bigint; -- of a month

    CREATE TABLE key_requests (
      key_id text NOT NULL,
      day bigint NOT NULL,
      requests bigint NOT NULL,
      refused bigint NOT NULL,
      minute bigint NOT NULL, -- the last minute that saw a request
      minute_requests bigint NOT NULL, -- requests in that minute
      PRIMARY KEY (key_id, day)
    ) WITH (fillfactor = 50);
    CREATE INDEX key_requests_day ON key_requests (day);

    CREATE VIEW request_windows AS
      SELECT account_id, period, starts_at, sum(used)::bigint AS used FROM (
        SELECT account_id, period, starts_at, used FROM request_counters
        UNION ALL
        SELECT account_id, period, starts_at, requests FROM request_minutes,
          LATERAL (VALUES ('minute', minute), ('day', day), ('month', month)) AS windows (period, starts_at)) AS parts
      GROUP BY account_id, period, starts_at;
    CREATE VIEW key_days AS
      SELECT key_id, day, requests, refused, 0 AS links, minute, minute_requests FROM key_requests
      UNION ALL
      SELECT key_id, day, requests, refused, 0, minute, requests FROM request_minutes
      UNION ALL
      SELECT key_id, day, 0, refused, links, 0, 0 FROM key_links;

    -- Adds the open minutes of the months until this one to their windows, and a minute that was closed before.
    CREATE FUNCTION roll_up_requests(account text, last_month bigint, late_minute bigint) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      minutes bigint[];
    BEGIN
      SELECT array_agg(open_minute) || late_minute INTO minutes FROM (
        SELECT open_minute FROM request_counters WHERE account_id = account AND period = 'month' AND starts_at <= last_month
        ORDER BY starts_at DESC FOR UPDATE) AS months;
      WITH moved AS (
        DELETE FROM request_minutes WHERE account_id = account AND minute = ANY(minutes) RETURNING *
      ), counted AS (
        INSERT INTO request_counters AS counters (account_id, period, starts_at, used)
          SELECT account, name, start, sum(requests) FROM moved,
            LATERAL (VALUES ('minute', minute), ('day', day), ('month', month)) AS windows (name, start)
          GROUP BY name, start
        ON CONFLICT (account_id, period, starts_at) DO UPDATE SET used = counters.used + excluded.used
      )
      INSERT INTO key_requests AS history (key_id, day, requests, refused, minute, minute_requests)
        SELECT key_id, day, sum(requests), sum(refused), max(minute), (array_agg(requests ORDER BY minute DESC))[1]
        FROM moved GROUP BY key_id, day ORDER BY key_id
      ON CONFLICT (key_id, day) DO UPDATE SET
        requests = history.requests + excluded.requests,
        refused = history.refused + excluded.refused,
        minute_requests = CASE WHEN history.minute > excluded.minute THEN 0 ELSE excluded.minute_requests END
          + CASE WHEN history.minute < excluded.minute THEN 0 ELSE history.minute_requests END,
        minute = greatest(history.minute, excluded.minute);
    END
    $$;

    CREATE FUNCTION admit_requests(
      account text,
      day_start bigint, minute_start bigint, month_start bigint,
      day_limit bigint, minute_limit bigint, month_limit bigint, -- null is unlimited
      last_to_end text[], -- the windows, the one that ends last first: of those that are full, that one refuses
      keys text[]
    ) RETURNS TABLE (granted bigint, day_used bigint, minute_used bigint, month_used bigint)
    LANGUAGE plpgsql AS $$
    DECLARE
      opened bigint;
    BEGIN
      PERFORM set_config('synchronous_commit', 'off', true);

      SELECT open_minute INTO opened FROM request_counters
        WHERE account_id = account AND period = 'month' AND starts_at = month_start FOR UPDATE;
      IF NOT FOUND THEN
        INSERT INTO request_counters (account_id, period, starts_at, used) VALUES (account, 'month', month_start, 0)
          ON CONFLICT DO NOTHING;
        SELECT open_minute INTO opened FROM request_counters
          WHERE account_id = account AND period = 'month' AND starts_at = month_start FOR UPDATE;
      END IF;
      IF opened IS NULL OR opened < minute_start THEN
        PERFORM roll_up_requests(account, month_start, NULL);
        UPDATE request_counters SET open_minute = minute_start
          WHERE account_id = account AND period = 'month' AND starts_at = month_start;
        opened := minute_start;
      END IF;

      SELECT coalesce(sum(requests) FILTER (WHERE day = day_start), 0),
          coalesce(sum(requests) FILTER (WHERE minute = minute_start), 0), coalesce(sum(requests), 0)
        INTO day_used, minute_used, month_used
        FROM request_minutes WHERE account_id = account AND minute = opened;
      day_used := day_used + coalesce((SELECT used FROM request_counters
        WHERE account_id = account AND period = 'day' AND starts_at = day_start), 0);
      minute_used := minute_used + coalesce((SELECT used FROM request_counters
        WHERE account_id = account AND period = 'minute' AND starts_at = minute_start), 0);
      month_used := month_used + (SELECT used FROM request_counters
        WHERE account_id = account AND period = 'month' AND starts_at = month_start);

      -- least() passes over nulls, and so over unlimited windows.
      granted := greatest(0, least(
        cardinality(keys), day_limit - day_used, minute_limit - minute_used, month_limit - month_used));
      INSERT INTO request_minutes AS counted (account_id, minute, key_id, day, month, requests, refused)
        SELECT account, minute_start, key, day_start, month_start,
            count(*) FILTER (WHERE place <= granted), count(*) FILTER (WHERE place > granted)
          FROM unnest(keys) WITH ORDINALITY AS arrived (key, place) GROUP BY key ORDER BY key
        ON CONFLICT (account_id, minute, key_id) DO UPDATE SET
          requests = counted.requests + excluded.requests, refused = counted.refused + excluded.refused;
      IF minute_start < opened THEN
        PERFORM roll_up_requests(account, month_start, minute_start);
      END IF;

      IF granted < cardinality(keys) THEN
        INSERT INTO key_refusals AS refusals (key_id, minute, reason, count)
          SELECT key, minute_start, full_window, count(*)
            FROM unnest(keys) WITH ORDINALITY AS arrived (key, place), LATERAL (
              SELECT name AS full_window FROM unnest(last_to_end) WITH ORDINALITY AS periods (name, place)
                WHERE (name = 'day' AND day_used + granted >= day_limit)
                  OR (name = 'minute' AND minute_used + granted >= minute_limit)
                  OR (name = 'month' AND month_used + granted >= month_limit)
                ORDER BY periods.place LIMIT 1) AS refusing
            WHERE arrived.place > granted GROUP BY key, full_window ORDER BY key
          ON CONFLICT (key_id, minute, reason) DO UPDATE SET count = refusals.count + excluded.count;
      END IF;
      RETURN NEXT;
    END
    $$;

    CREATE FUNCTION refund_request(
      account text, day_start bigint, minute_start bigint, month_start bigint, key text
    ) RETURNS void
    LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM set_config('synchronous_commit', 'off', true);
      PERFORM 1 FROM request_counters WHERE account_id = account AND period = 'month' AND starts_at = month_start FOR UPDATE;
      UPDATE request_minutes SET requests = requests - 1
        WHERE account_id = account AND minute = minute_start AND key_id = key AND requests > 0;
      IF FOUND THEN
        RETURN;
      END IF;
      PERFORM roll_up_requests(account, month_start, NULL);
      UPDATE request_counters SET used = used - 1
        WHERE account_id = account AND used > 0
          AND (period, starts_at) IN (('day', day_start), ('minute', minute_start), ('month', month_start));
      UPDATE key_requests SET
          requests = requests - 1,
          minute_requests = minute_requests
            - CASE WHEN minute = minute_start AND minute_requests > 0 THEN 1 ELSE 0 END
        WHERE key_id = key AND day = day_start AND requests > 0;
    END
    $$;
  `;
