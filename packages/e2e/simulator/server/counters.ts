import type { PlanLimits } from '@shortlink/sdk/wire';
import type { Account, Attempt, Ledger } from './ledger.ts';
import type { World } from './world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export type WindowName = 'minute' | 'day' | 'month';

export const WINDOWS: readonly WindowName[] = ['minute', 'day', 'month'];

/** The end of the window in UTC that holds a time. It names the window, too. Written anew, so that it can't share a mistake. */
export function endOf(window: WindowName, time: number): number {
  if (window === 'minute') return time - (time % MINUTE_MS) + MINUTE_MS;
  if (window === 'day') return time - (time % DAY_MS) + DAY_MS;
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** The smallest and the largest limit that was ever in force; unlimited is infinite. */
export function bounds(account: Account, name: keyof PlanLimits): { least: number; most: number } {
  const values = account.limits.map((limits) => limits[name] ?? Number.POSITIVE_INFINITY);
  return { least: Math.min(...values), most: Math.max(...values) };
}

/** Its response says that it was counted. */
function isCounted({ witness, answer }: Attempt): boolean {
  if (witness.admittedAt === undefined || answer === undefined || witness.isForgettable)
    return false;
  return answer.status < 500 && answer.status !== 429;
}

/** Nobody can know whether it was counted: it got no response, or the database failed while it was counted or given back. */
function isDoubtful({ witness, answer }: Attempt): boolean {
  if (witness.admittedAt === undefined) return false;
  if (answer === undefined || witness.isForgettable) return true;
  return answer.status >= 500 && witness.isDoubtful === true;
}

/**
 * Given back, though the standby may never have counted it: then one that it has counted is missing instead. Admissions wait for no standby, so
 * that a failover may forget some, too.
 */
function isOverpaid({ witness, answer }: Attempt): boolean {
  return witness.isForgettable === true && answer !== undefined && answer.status >= 500;
}

/** How many requests there are of each window, by its end. */
function countsBy(window: WindowName, attempts: readonly Attempt[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const { witness } of attempts) {
    const end = endOf(window, witness.admittedAt ?? 0);
    counts.set(end, (counts.get(end) ?? 0) + 1);
  }
  return counts;
}

/** The windows have counted what was admitted, and nothing that was given back. */
export async function judgeWindows(world: World, ledger: Ledger): Promise<string | undefined> {
  for (const account of ledger.accounts) {
    const attempts = ledger.attempts.filter((attempt) => attempt.account === account);
    for (const window of WINDOWS) {
      const counts = countsBy(window, attempts.filter(isCounted));
      const doubts = countsBy(window, attempts.filter(isDoubtful));
      const overpaid = countsBy(window, attempts.filter(isOverpaid));
      const { most: allowed } = bounds(account, `requests_per_${window}`);
      for (const [end, count] of counts) {
        const least = count - (overpaid.get(end) ?? 0);
        if (least > allowed)
          return `${account.name}: ${count} requests in a ${window} that has ${allowed}`;
        const [row] = await world.rows<{ used: number }>(
          'SELECT used FROM request_windows WHERE account_id = ? AND period = ? AND starts_at < ? ORDER BY starts_at DESC LIMIT 1',
          account.id,
          window,
          end,
        );
        // Counters of windows that ended long ago are deleted.
        const most = count + (doubts.get(end) ?? 0);
        const isLive = row !== undefined && end > world.scheduler.now;
        if (isLive && (row.used < least || row.used > most)) {
          return `${account.name}: ${count} requests in a ${window}, or up to ${most}, and ${row.used} are counted`;
        }
      }
    }
  }
  return undefined;
}

/** What was followed was counted. */
export async function judgeClicks(world: World, ledger: Ledger): Promise<string | undefined> {
  for (const [code, { sent, answered }] of ledger.clicks) {
    const [row] = await world.rows<{ clicks: number }>(
      'SELECT CAST(sum(clicks) AS BIGINT) AS clicks FROM link_clicks WHERE code = ?',
      code,
    );
    const counted = row?.clicks ?? 0;
    // The clicks of a commit in doubt are written once more.
    if (counted > sent && world.doubtfulCommits === 0)
      return `${code}: ${counted} clicks of ${sent} redirects`;
    if (!ledger.wasRough && counted !== answered) {
      return `${code}: ${counted} clicks of ${answered} redirects`;
    }
  }
  return undefined;
}
