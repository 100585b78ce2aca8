import type { RefusalReason } from '@shortlink/sdk/wire';
import {
  exceeds,
  type RequestWindow,
  refusingWindow,
  startOfDay,
  windowState,
  windowsAt,
} from '../../../domain/limits.ts';
import { rowsOf, sql, type Writing } from '../../queries/reading.ts';
import type { Admission, Caller } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Slots, Wanted } from '../../writes/engine.ts';
import type { Database } from '../database.ts';
import type { SqliteEngine } from './engine.ts';

/** See `Store.admit`. */
export function admit(
  counters: Counters,
  { accountId, keyId, limits }: Caller,
  now: number,
): Admission {
  const windows = windowsAt(now);
  const counts = windows.map((window) => counters.requests(accountId, window));
  const states = windows.map((window, index) =>
    windowState(window, limits, counts[index]?.used ?? 0),
  );
  const refusedBy = refusingWindow(states);
  if (refusedBy !== undefined) {
    counters.refuse(keyId, refusedBy.name, now);
    return { admitted: false, windows: states, refusedBy };
  }
  const day = counters.keyDay(keyId, now);
  const [{ startsAt: minute }] = windows;
  if (day.minute !== minute) Object.assign(day, { minute, minuteRequests: 0 });
  day.requests += 1;
  day.minuteRequests += 1;
  for (const count of counts) add(count, 1);
  for (const state of states) state.used += 1;
  return { admitted: true, windows: states };
}

export function* refund(_: SqliteEngine, { accountId, keyId }: Caller, now: number): Writing<void> {
  const windows = windowsAt(now);
  for (const window of windows) {
    yield* rowsOf(sql`
      UPDATE request_counters SET used = used - 1
      WHERE account_id = ${accountId} AND window = ${window.name} AND starts_at = ${window.startsAt} AND used > 0`);
  }
  yield* rowsOf(sql`
    UPDATE key_days SET
      requests = requests - 1,
      minute_requests = minute_requests - iif(minute = ${windows[0].startsAt} AND minute_requests > 0, 1, 0)
    WHERE key_id = ${keyId} AND day = ${startOfDay(now)} AND requests > 0`);
}

/** See `Engine.takeSlots`. */
export function takeSlots(
  counters: Counters,
  { accountId, limits }: Caller,
  wanted: readonly Wanted[],
  now: number,
): Slots {
  const total = counters.links(accountId);
  let granted = 0;
  for (const { keyId, links } of wanted) {
    if (exceeds(limits.links, total.used, links)) break;
    add(total, links);
    counters.keyDay(keyId, now).links += links;
    granted += 1;
  }
  for (const { keyId } of wanted.slice(granted)) counters.refuse(keyId, 'links', now);
  return { granted, used: total.used };
}

interface Count {
  /** As it stands, with what this transaction added. */
  used: number;
  /** What this transaction added. */
  added: number;
  write: (added: number) => void;
}

/** What this transaction adds to a key's day. */
interface KeyDay {
  readonly keyId: string;
  readonly day: number;
  requests: number;
  refused: number;
  links: number;
  /** The last minute that saw a request, 0 without one, and the requests in it. */
  minute: number;
  minuteRequests: number;
}

/**
 * Counters of one transaction. Requests that are committed together often belong to one account, so each row is read once and written
 * once, by {@link flush}, however many of them count in it.
 */
export class Counters {
  readonly #db: Database;
  readonly #counts = new Map<string, Count>();
  readonly #days = new Map<string, KeyDay>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Requests of the account in a window. */
  requests(accountId: string, { name, startsAt }: RequestWindow): Count {
    const read = () =>
      this.#db.get<{ used: number }>(sql`
        SELECT used FROM request_counters WHERE account_id = ${accountId} AND window = ${name} AND starts_at = ${startsAt}`);
    return this.#count(`${accountId} ${name} ${startsAt}`, read, (added) =>
      this.#db.run(sql`
        INSERT INTO request_counters (account_id, window, starts_at, used)
        VALUES (${accountId}, ${name}, ${startsAt}, ${added})
        ON CONFLICT DO UPDATE SET used = used + excluded.used`),
    );
  }

  /** Links of the account's total, also of jobs that still run. */
  links(accountId: string): Count {
    const read = () => {
      const row = this.#db.get<{ used: number }>(sql`
        SELECT links_used AS used FROM accounts WHERE id = ${accountId}`);
      if (row === undefined) throw new StoreError('internal', `There is no account ${accountId}.`);
      return row;
    };
    return this.#count(accountId, read, (added) =>
      this.#db.run(
        sql`UPDATE accounts SET links_used = links_used + ${added} WHERE id = ${accountId}`,
      ),
    );
  }

  keyDay(keyId: string, now: number): KeyDay {
    const day = startOfDay(now);
    const id = `${keyId} ${day}`;
    let keyDay = this.#days.get(id);
    if (keyDay === undefined) {
      keyDay = { keyId, day, requests: 0, refused: 0, links: 0, minute: 0, minuteRequests: 0 };
      this.#days.set(id, keyDay);
    }
    return keyDay;
  }

  /** Remembers that a limit refused a request of this key. */
  refuse(keyId: string, reason: RefusalReason, now: number): void {
    this.keyDay(keyId, now).refused += 1;
    const [{ startsAt: minute }] = windowsAt(now);
    const refusals = this.#count(`${keyId} ${minute} ${reason}`, undefined, (added) =>
      this.#db.run(sql`
        INSERT INTO key_refusals (key_id, minute, reason, count) VALUES (${keyId}, ${minute}, ${reason}, ${added})
        ON CONFLICT DO UPDATE SET count = count + excluded.count`),
    );
    add(refusals, 1);
  }

  /** Writes what was added, and forgets it. */
  flush(): void {
    for (const { added, write } of this.#counts.values()) if (added > 0) write(added);
    this.#counts.clear();
    for (const row of this.#days.values()) {
      const { keyId, day, requests, refused, links, minute, minuteRequests } = row;
      // A day that begins between an admission and its create has no row yet, and the create says nothing about minutes.
      this.#db.run(sql`
        INSERT INTO key_days (key_id, day, requests, refused, links, minute, minute_requests)
        VALUES (${keyId}, ${day}, ${requests}, ${refused}, ${links}, ${minute}, ${minuteRequests})
        ON CONFLICT DO UPDATE SET
          requests = requests + excluded.requests,
          refused = refused + excluded.refused,
          links = links + excluded.links,
          minute_requests = excluded.minute_requests + iif(excluded.minute IN (minute, 0), minute_requests, 0),
          minute = iif(excluded.minute = 0, minute, excluded.minute)`);
    }
    this.#days.clear();
  }

  #count(
    id: string,
    read: (() => { used: number } | undefined) | undefined,
    write: (added: number) => void,
  ): Count {
    let count = this.#counts.get(id);
    if (count === undefined) {
      count = { used: read?.()?.used ?? 0, added: 0, write };
      this.#counts.set(id, count);
    }
    return count;
  }
}

/** Adds to a counter. */
function add(count: Count, number: number): void {
  count.used += number;
  count.added += number;
}
