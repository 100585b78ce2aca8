import type { Link } from '@shortlink/sdk/wire';
import {
  lastToEnd,
  refusingWindow,
  startOfDay,
  type WindowName,
  windowState,
  windowsAt,
} from '../../domain/limits.ts';
import type { LookupEntry } from '../../domain/validate-link.ts';
import type { Engine, ReadEngine } from '../engine.ts';
import { NO_ID, targetNumber } from '../links.ts';
import { type LinkRow, SELECT_LINK, toLink } from '../queries/links.ts';
import { type Reading, rowOf, rowsOf, sql, sqlText, type Writing } from '../queries/reading.ts';
import type { Admission, Caller } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { Database } from './database.ts';
import { arrayOf, listOf } from './statement.ts';

/** Rows over which the clicks of a hot link are spread, so that instances seldom meet. Reading a link adds them up. */
const CLICK_SLOTS = 16;

/** Any number that isn't used elsewhere in this database. */
const RANK_LOCK = 7_305_812_449;

const COLUMNS = {
  ...{ code: 'text', id: 'uuid', account_id: 'text', domain_id: 'text', target_url: 'text' },
  ...{ target_number: 'bigint', title: 'text', redirect_type: 'smallint', is_active: 'boolean' },
  ...{ tags: 'text', created_at: 'bigint' },
};
const NAMES = sqlText(Object.keys(COLUMNS).join());

export const dialect: Pick<Engine, 'table' | 'bytes'> = {
  table: (columns, rows) => listOf(Object.fromEntries(columns.map((name) => [name, 'text'])), rows),
  bytes: sqlText,
};

export function postgresEngine(parts: Pick<Engine, 'shortUrl' | 'generateCode'>): Engine {
  return {
    ...parts,
    hostnames: new Map(),
    isIdle: () => false,
    locked: sqlText('FOR NO KEY UPDATE'),
    unlessLocked: sqlText('FOR UPDATE SKIP LOCKED'),
    dailyTables: ['key_requests', 'key_links'],
    isAlone: false,
    bucket: sqlText('0'),
    clickSlot: Math.floor(Math.random() * CLICK_SLOTS),
    mayRank: sqlText(`pg_try_advisory_xact_lock(${RANK_LOCK})`),
    ...dialect,
    insertRows: function* (rows) {
      const links = rows.map((row) => ({
        ...row,
        target_number: targetNumber(row),
        tags: JSON.stringify(row.tags),
      }));
      const inserted = yield* rowsOf<{ code: string }>(sql`
        INSERT INTO links (${NAMES}) SELECT ${NAMES} FROM ${listOf(COLUMNS, links)}
        WHERE NOT EXISTS (SELECT FROM aliases WHERE aliases.domain_id = coalesce(listed.domain_id, '') AND path = '/' || listed.code)
        ON CONFLICT (code) DO NOTHING RETURNING code`);
      return new Set(inserted.map(({ code }) => code));
    },
    takeSlots: function* ({ accountId, limits }, limit, keys, links, now) {
      const [minute] = windowsAt(now);
      const allowed = limit === 'links' ? limits.links : 0;
      const row = yield* rowOf<{ granted: number; used: number }>(sql`
        SELECT granted, used_now AS used
        FROM take_slots(${accountId}, ${limit}, ${allowed}, ${startOfDay(now)}, ${minute.startsAt}, ${arrayOf(keys)}, ${links})`);
      if (row === undefined) throw new StoreError('internal', `There is no account ${accountId}.`);
      return row;
    },
  };
}

/** Counts requests of an account, given the keys that they came with, in the order of their arrival. */
export async function admit(
  db: Database,
  { accountId, limits }: Caller,
  now: number,
  keyIds: readonly string[],
): Promise<Admission[]> {
  const windows = windowsAt(now);
  const [minute, day, month] = windows;
  const refusing = arrayOf(lastToEnd(windows).map(({ name }) => name));
  const row = await db.writeStatement<Record<WindowName | 'granted', number>>(
    sql`SELECT granted, day_used AS day, minute_used AS minute, month_used AS month FROM admit_requests(${accountId}, ${day.startsAt}, ${minute.startsAt}, ${month.startsAt},
      ${limits.requests_per_day}, ${limits.requests_per_minute}, ${limits.requests_per_month}, ${refusing}, ${arrayOf(keyIds)})`,
  );
  const statesAfter = (passed: number) =>
    windows.map((window) => windowState(window, limits, row[window.name] + passed));
  return keyIds.map((_, index): Admission => {
    if (index < row.granted) return { admitted: true, windows: statesAfter(index + 1) };
    const states = statesAfter(row.granted);
    const refusedBy = refusingWindow(states);
    if (refusedBy !== undefined) return { admitted: false, windows: states, refusedBy };
    throw new StoreError('internal', 'A request was refused although no window is full.');
  });
}

/** Takes an admission back. As with that one, nobody waits for the disk. Rows are locked in the order of `admit_requests`. */
export async function refund(db: Database, caller: Caller, now: number): Promise<void> {
  const [minute, day, month] = windowsAt(now);
  await db.writeStatement(
    sql`SELECT refund_request(${caller.accountId}, ${day.startsAt}, ${minute.startsAt}, ${month.startsAt}, ${caller.keyId})`,
  );
}

const STEP_ACCOUNTS = 1_000;

/** Adds the last minute of accounts that have had no request since to its windows, before those are deleted. Returns `true` when there is more. */
export function* rollUpRequests(now: number): Writing<boolean> {
  const [, day, month] = windowsAt(now);
  const accounts = yield* rowsOf(sql`
    SELECT roll_up_requests(account_id, ${month.startsAt}, NULL) FROM (
      SELECT DISTINCT account_id FROM request_minutes WHERE minute < ${day.startsAt}
      ORDER BY account_id LIMIT ${STEP_ACCOUNTS}) AS idle`);
  return accounts.length === STEP_ACCOUNTS;
}

const ASKED = {
  ...{ place: 'int', number: 'bigint', target_url: 'text', domain_id: 'text', after: 'uuid' },
  code: 'text',
};

export function* findLinks(
  { shortUrl }: ReadEngine,
  account_id: string,
  entries: readonly LookupEntry[],
  most: number,
): Reading<Link[][]> {
  const asked = entries.map((entry, place) => {
    if ('code' in entry) return { place, code: entry.code };
    const number = entry.number ?? targetNumber({ ...entry, account_id });
    return { ...entry, after: entry.after ?? NO_ID, place, number };
  });
  const rows = yield* rowsOf<{ place: number } & LinkRow>(sql`
    SELECT place, link.* FROM ${listOf(ASKED, asked)}, LATERAL (
      (${SELECT_LINK} WHERE target_number = number AND link_details.id > after AND link_details.account_id = ${account_id}
          AND domain_id IS NOT DISTINCT FROM listed.domain_id AND target_url = listed.target_url
        ORDER BY link_details.id LIMIT ${most})
      UNION ALL ${SELECT_LINK} WHERE code = listed.code AND link_details.account_id = ${account_id}) AS link
    ORDER BY place, id`);
  const links: Link[][] = entries.map(() => []);
  for (const row of rows) links[row.place]?.push(toLink(shortUrl, row));
  return links;
}
