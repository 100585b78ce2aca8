import type { Migration } from '../../migration.ts';

/**
 * Counts requests of one account that arrived together, one per element of `keys` in the order of their arrival: the first
 * `granted` pass, the others are refused. One call is one short transaction, and the row locks make calls of all instances
 * follow each other, so no window is ever passed and no request is refused while there is place.
 *
 * Rows are locked in the order day, minute, month, by everybody: calls of two minutes that share a day can't deadlock.
 * The commit doesn't wait for the disk (`Store.admit`): the log is written in order, so the next durable commit carries it.
 */
export const admission: Migration = {
  version: 2,
  name: 'admission',
  sql: `
    CREATE FUNCTION admit_requests(
      account text,
      day_start bigint, minute_start bigint, month_start bigint,
      day_limit bigint, minute_limit bigint, month_limit bigint, -- null is unlimited
      last_to_end text[], -- the windows, the one that ends last first: of those that are full, that one refuses
      keys text[]
    ) RETURNS TABLE (granted bigint, day_used bigint, minute_used bigint, month_used bigint)
    LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM set_config('synchronous_commit', 'off', true);

      INSERT INTO request_counters (account_id, period, starts_at, used)
        VALUES (account, 'day', day_start, 0), (account, 'minute', minute_start, 0), (account, 'month', month_start, 0)
        ON CONFLICT DO NOTHING;
      SELECT used INTO day_used FROM request_counters
        WHERE account_id = account AND period = 'day' AND starts_at = day_start FOR UPDATE;
      SELECT used INTO minute_used FROM request_counters
        WHERE account_id = account AND period = 'minute' AND starts_at = minute_start FOR UPDATE;
      SELECT used INTO month_used FROM request_counters
        WHERE account_id = account AND period = 'month' AND starts_at = month_start FOR UPDATE;

      -- least() passes over nulls, and so over unlimited windows.
      granted := greatest(0, least(
        cardinality(keys), day_limit - day_used, minute_limit - minute_used, month_limit - month_used));
      IF granted > 0 THEN
        UPDATE request_counters SET used = used + granted
          WHERE account_id = account
            AND (period, starts_at) IN (('day', day_start), ('minute', minute_start), ('month', month_start));
      END IF;

      INSERT INTO key_requests AS history (key_id, day, requests, refused, minute, minute_requests)
        SELECT key, day_start,
            count(*) FILTER (WHERE place <= granted), count(*) FILTER (WHERE place > granted),
            minute_start, count(*) FILTER (WHERE place <= granted)
          FROM unnest(keys) WITH ORDINALITY AS arrived (key, place) GROUP BY key ORDER BY key
        ON CONFLICT (key_id, day) DO UPDATE SET
          requests = history.requests + excluded.requests,
          refused = history.refused + excluded.refused,
          minute_requests = excluded.minute_requests
            + CASE WHEN history.minute = excluded.minute THEN history.minute_requests ELSE 0 END,
          minute = excluded.minute;

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
      UPDATE request_counters SET used = used - 1
        WHERE account_id = account AND period = 'day' AND starts_at = day_start AND used > 0;
      UPDATE request_counters SET used = used - 1
        WHERE account_id = account AND period = 'minute' AND starts_at = minute_start AND used > 0;
      UPDATE request_counters SET used = used - 1
        WHERE account_id = account AND period = 'month' AND starts_at = month_start AND used > 0;
      UPDATE key_requests SET
          requests = requests - 1,
          minute_requests = minute_requests
            - CASE WHEN minute = minute_start AND minute_requests > 0 THEN 1 ELSE 0 END
        WHERE key_id = key AND day = day_start AND requests > 0;
    END
    $$;
  `,
};
