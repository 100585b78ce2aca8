import type { RefusalReason } from '@shortlink/sdk/wire';
import {
  type RequestWindow,
  refusingWindow,
  startOfDay,
  windowState,
  windowsAt,
} from '../../../domain/limits.ts';
import { sql } from '../../queries/reading.ts';
import { StoreError } from '../../store-error.ts';
import type { Database } from '../database.ts';
import type { Operation } from './operations.ts';

export const admit: Operation<'admit'> = ({ counters }, caller, now) => {
  const windows = windowsAt(now);
  const counts = windows.map((window) => counters.requests(caller.accountId, window));
  const states = windows.map((window, index) =>
    windowState(window, caller.limits, counts[index]?.used ?? 0),
  );
  const refusedBy = refusingWindow(states);
  const [minute, { startsAt: today }] = windows;
  const day = counters.keyDay(caller.keyId, today);
  if (day.minute !== minute.startsAt)
    Object.assign(day, { minute: minute.startsAt, minuteRequests: 0 });
  if (refusedBy !== undefined) {
    day.refused += 1;
    counters.addRefusal(caller.keyId, minute.startsAt, refusedBy.name);
    return { admitted: false, windows: states, refusedBy };
  }
  day.requests += 1;
  day.minuteRequests += 1;
  for (const count of counts) add(count, 1);
  for (const state of states) state.used += 1;
  return { admitted: true, windows: states };
};

export const refund: Operation<'refund'> = ({ db }, caller, now) => {
  const windows = windowsAt(now);
  for (const window of windows) {
    db.run(sql`
      UPDATE request_counters SET used = used - 1
      WHERE account_id = ${caller.accountId} AND window = ${window.name} AND starts_at = ${window.startsAt} AND used > 0`);
  }
  db.run(sql`
    UPDATE key_days SET
      requests = requests - 1,
      minute_requests = minute_requests - iif(minute = ${windows[0].startsAt} AND minute_requests > 0, 1, 0)
    WHERE key_id = ${caller.keyId} AND day = ${startOfDay(now)} AND requests > 0`);
};

interface Count {
  /** As it stands, with what this transaction added. */
  used: number;
  /** What this transaction added. */
  added: number;
}

/** What this transaction adds to a key's day. */
interface KeyDay {
  requests: number;
  refused: number;
  links: number;
  /** The last minute that saw a request, and the requests in it. */
  minute: number | undefined;
  minuteRequests: number;
}

/**
 * Counters of one transaction. Requests that are committed together often belong to one account, so each row is read once and written
 * once, by {@link flush}, however many of them count in it.
 */
export class Counters {
  readonly #db: Database;
  readonly #windows = new Rows<[accountId: string, window: string, startsAt: number], Count>();
  readonly #links = new Rows<[accountId: string], Count>();
  readonly #days = new Rows<[keyId: string, day: number], KeyDay>();
  readonly #refusals = new Rows<[keyId: string, minute: number, reason: RefusalReason], Count>();

  constructor(db: Database) {
    this.#db = db;
  }

  /** Requests of the account in a window. */
  requests(accountId: string, { name, startsAt }: RequestWindow): Count {
    return this.#windows.get([accountId, name, startsAt], () => {
      const row = this.#db.get<{ used: number }>(sql`
        SELECT used FROM request_counters WHERE account_id = ${accountId} AND window = ${name} AND starts_at = ${startsAt}`);
      return { used: row?.used ?? 0, added: 0 };
    });
  }

  /** Links of the account's total, also of jobs that still run. */
  links(accountId: string): Count {
    return this.#links.get([accountId], () => {
      const row = this.#db.get<{ links_used: number }>(sql`
        SELECT links_used FROM accounts WHERE id = ${accountId}`);
      if (row === undefined) throw new StoreError('internal', `There is no account ${accountId}.`);
      return { used: row.links_used, added: 0 };
    });
  }

  keyDay(keyId: string, day: number): KeyDay {
    return this.#days.get([keyId, day], () => {
      return { requests: 0, refused: 0, links: 0, minute: undefined, minuteRequests: 0 };
    });
  }

  /** Remembers that a limit refused a request of this key. */
  addRefusal(keyId: string, minute: number, reason: RefusalReason): void {
    add(
      this.#refusals.get([keyId, minute, reason], () => ({ used: 0, added: 0 })),
      1,
    );
  }

  /** Writes what was added, and forgets it. */
  flush(): void {
    const db = this.#db;
    for (const [[accountId, window, startsAt], { added }] of this.#windows.take()) {
      if (added === 0) continue;
      db.run(sql`
        INSERT INTO request_counters (account_id, window, starts_at, used)
        VALUES (${accountId}, ${window}, ${startsAt}, ${added})
        ON CONFLICT DO UPDATE SET used = used + excluded.used`);
    }
    for (const [[accountId], { added }] of this.#links.take()) {
      if (added === 0) continue;
      db.run(sql`UPDATE accounts SET links_used = links_used + ${added} WHERE id = ${accountId}`);
    }
    for (const [[keyId, day], counts] of this.#days.take()) {
      // A day that begins between an admission and its create has no row yet, and the create says nothing about minutes.
      const { requests, refused, links, minute = 0, minuteRequests } = counts;
      db.run(sql`
        INSERT INTO key_days (key_id, day, requests, refused, links, minute, minute_requests)
        VALUES (${keyId}, ${day}, ${requests}, ${refused}, ${links}, ${minute}, ${minuteRequests})
        ON CONFLICT DO UPDATE SET
          requests = requests + excluded.requests,
          refused = refused + excluded.refused,
          links = links + excluded.links,
          minute_requests = excluded.minute_requests + iif(excluded.minute IN (minute, 0), minute_requests, 0),
          minute = iif(excluded.minute = 0, minute, excluded.minute)`);
    }
    for (const [[keyId, minute, reason], { added }] of this.#refusals.take()) {
      db.run(sql`
        INSERT INTO key_refusals (key_id, minute, reason, count) VALUES (${keyId}, ${minute}, ${reason}, ${added})
        ON CONFLICT DO UPDATE SET count = count + excluded.count`);
    }
  }
}

/** Adds to a counter. */
export function add(count: Count, number: number): void {
  count.used += number;
  count.added += number;
}

/** Rows by their key columns. */
class Rows<K extends readonly (string | number)[], T> {
  #rows = new Map<string, [K, T]>();

  get(key: K, read: () => T): T {
    const id = key.join(' ');
    let row = this.#rows.get(id);
    if (row === undefined) {
      row = [key, read()];
      this.#rows.set(id, row);
    }
    return row[1];
  }

  /** All of them; from now on there are none. */
  take(): Iterable<[K, T]> {
    const rows = this.#rows;
    this.#rows = new Map();
    return rows.values();
  }
}
