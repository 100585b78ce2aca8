import type { RefusalReason } from '@shortlink/sdk/wire';
import {
  exceeds,
  type RequestWindow,
  refusingWindow,
  startOfDay,
  windowState,
  windowsAt,
} from '../../domain/limits.ts';
import type { Engine, OnEngine, Slots } from '../engine.ts';
import { known, type Statement, sql } from '../queries/reading.ts';
import type { Database } from './database.ts';
import type { SqliteEngine } from './engine.ts';

export const admissions = {
  admit({ counters }, { accountId, keyId, limits }, now) {
    const windows = windowsAt(now);
    const counts = windows.map((window) => counters.requests(accountId, window));
    const states = windows.map((window, index) =>
      windowState(window, limits, counts[index]?.used ?? 0),
    );
    const refusedBy = refusingWindow(states);
    if (refusedBy !== undefined) {
      counters.refuse(keyId, refusedBy.name, now);
      return known({ admitted: false, windows: states, refusedBy });
    }
    for (const count of [...counts, counters.keyDay(keyId, 'requests', now)]) add(count, 1);
    for (const state of states) state.used += 1;
    return known({ admitted: true, windows: states });
  },

  refund({ counters }, { accountId, keyId }, now) {
    const counts = windowsAt(now).map((window) => counters.requests(accountId, window));
    const ofKey = (counts[1]?.used ?? 0) > 0 ? [counters.keyDay(keyId, 'requests', now)] : [];
    for (const count of [...counts.filter(({ used }) => used > 0), ...ofKey]) add(count, -1);
    return known(undefined);
  },
} satisfies OnEngine<SqliteEngine>;

type TakeSlots = (counters: Counters, ...request: Parameters<Engine['takeSlots']>) => Slots;

export const takeSlots: TakeSlots = (counters, { accountId, limits }, limit, keys, links, now) => {
  const total = counters.links(accountId);
  let granted = 0;
  for (const keyId of keys) {
    if (limit !== 'links' || exceeds(limits.links, total.used, links)) break;
    add(total, links);
    add(counters.keyDay(keyId, 'links', now), links);
    granted += 1;
  }
  for (const keyId of keys.slice(granted)) counters.refuse(keyId, limit, now);
  return { granted, used: total.used };
};

const NONE = { requests: 0, refused: 0, links: 0 };

interface Count {
  /** The number as it stands, with what this transaction added. It begins at 0 for a counter that is only added to. */
  used: number;
  added: number;
  write: (added: number) => Statement;
}

/** Counters of one transaction: each row is read once and written once, by {@link flush}, however many requests of an account count in it. */
export class Counters {
  readonly #db: Database;
  readonly #counts = new Map<string, Count>();

  constructor(db: Database) {
    this.#db = db;
  }

  requests(accountId: string, { name, startsAt }: RequestWindow): Count {
    const read = () => sql`
      SELECT used FROM request_counters WHERE account_id = ${accountId} AND period = ${name} AND starts_at = ${startsAt}`;
    const write = (added: number) => sql`
      INSERT INTO request_counters (account_id, period, starts_at, used)
      VALUES (${accountId}, ${name}, ${startsAt}, ${added})
      ON CONFLICT DO UPDATE SET used = used + excluded.used`;
    return this.#count(`${accountId} ${name} ${startsAt}`, write, read);
  }

  links(accountId: string): Count {
    const read = () => sql`SELECT used FROM link_totals WHERE account_id = ${accountId}`;
    const write = (added: number) =>
      sql`UPDATE link_totals SET used = used + ${added} WHERE account_id = ${accountId}`;
    return this.#count(accountId, write, read);
  }

  /** What a key did on a day. Of its requests, those of the last minute that saw one are counted as well. */
  keyDay(keyId: string, what: keyof typeof NONE, now: number): Count {
    const day = startOfDay(now);
    const minute = what === 'requests' ? windowsAt(now)[0].startsAt : 0;
    return this.#count(`${keyId} ${day} ${minute} ${what}`, (added) => {
      const { requests, refused, links }: typeof NONE = { ...NONE, [what]: added };
      return sql`
        INSERT INTO key_days (key_id, day, requests, refused, links, minute, minute_requests)
        VALUES (${keyId}, ${day}, ${requests}, ${refused}, ${links}, ${minute}, ${requests})
        ON CONFLICT DO UPDATE SET
          requests = requests + excluded.requests,
          refused = refused + excluded.refused,
          links = links + excluded.links,
          minute_requests = iif(excluded.minute > minute, 0, minute_requests)
            + iif(excluded.minute < minute, 0, excluded.minute_requests),
          minute = max(minute, excluded.minute)`;
    });
  }

  refuse(keyId: string, reason: RefusalReason, now: number): void {
    add(this.keyDay(keyId, 'refused', now), 1);
    const [{ startsAt: minute }] = windowsAt(now);
    const write = (added: number) => sql`
      INSERT INTO key_refusals (key_id, minute, reason, count) VALUES (${keyId}, ${minute}, ${reason}, ${added})
      ON CONFLICT DO UPDATE SET count = count + excluded.count`;
    add(this.#count(`${keyId} ${minute} ${reason}`, write), 1);
  }

  flush(): void {
    for (const { added, write } of this.#counts.values()) {
      if (added !== 0) this.#db.run(write(added));
    }
  }

  #count(id: string, write: Count['write'], read?: () => Statement): Count {
    let count = this.#counts.get(id);
    if (count === undefined) {
      const row = read && this.#db.get<{ used: number }>(read());
      count = { used: row?.used ?? 0, added: 0, write };
      this.#counts.set(id, count);
    }
    return count;
  }
}

function add(count: Count, number: number): void {
  count.used += number;
  count.added += number;
}
