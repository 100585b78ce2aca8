import { expect, test } from 'vitest';
import { toJobInput } from '../links.ts';
import type { Caller } from '../store.ts';
import {
  finishJob,
  NOW,
  newCaller,
  newJob,
  newKey,
  newLink,
  newLinks,
  resultsOf,
} from './fixtures.test-suite.ts';
import type { UseStore } from './use-store.test-suite.ts';

const DAY = 86_400_000;

export function testHousekeeping(useStore: UseStore): void {
  const store = useStore();

  test('the month of a key begins with its first day and ends with its last', async () => {
    const caller = await newCaller(store());
    const [april, may] = [Date.UTC(2026, 3), Date.UTC(2026, 4)];
    for (const now of [april - 1, april, may - 1, may]) await store().admit(caller, now);
    const month = async (now: number) => {
      const { requests, keys } = await store().usage(caller.accountId, now);
      return [requests.month.used, keys[0]?.requests.month];
    };
    expect(await month(april - 1)).toEqual([1, 1]);
    expect(await month(april)).toEqual([2, 2]);
    expect(await month(may - 1)).toEqual([2, 2]);
    expect(await month(may)).toEqual([1, 1]);
  });

  test('usage shows plan, windows, links and keys, whatever other accounts use', async () => {
    const other = await newCaller(store());
    for (let n = 0; n < 5; n += 1) await store().admit(other, NOW);
    await store().createBatch({ caller: other, input: newLinks(3), now: NOW });
    const caller = await newCaller(store(), { requests_per_minute: 60, links: 10, api_keys: 3 });
    const second = await newKey(store(), caller.accountId, ['analytics:read']);
    await store().admit(caller, NOW);
    await store().admit(caller, NOW);
    await store().admit(second, NOW);
    await store().createBatch({ caller, input: newLinks(4), now: NOW });
    const key = {
      name: 'ci',
      permissions: ['shortlinks:write'],
      created_at: '2026-03-10T12:30:15.250Z',
    };
    expect(await store().usage(caller.accountId, NOW)).toEqual({
      account_name: 'Acme',
      plan: 'custom',
      requests: {
        minute: { used: 3, limit: 60, resets_at: '2026-03-10T12:31:00.000Z' },
        day: { used: 3, limit: null, resets_at: '2026-03-11T00:00:00.000Z' },
        month: { used: 3, limit: null, resets_at: '2026-04-01T00:00:00.000Z' },
      },
      links: { used: 4, limit: 10 },
      top_links: [],
      api_keys: { used: 2, limit: 3 },
      batch_size: 10_000,
      history: [{ date: '2026-03-10', requests: 3, refused: 0, links: 4 }],
      keys: [
        {
          ...key,
          id: caller.keyId,
          requests: { minute: 2, day: 2, month: 2 },
          history: [{ date: '2026-03-10', requests: 2, refused: 0, links: 4 }],
          recent_refusals: [],
        },
        {
          ...key,
          id: second.keyId,
          permissions: ['analytics:read'],
          requests: { minute: 1, day: 1, month: 1 },
          history: [{ date: '2026-03-10', requests: 1, refused: 0, links: 0 }],
          recent_refusals: [],
        },
      ],
    });
    const { requests } = await store().usage(other.accountId, NOW);
    expect(requests).toMatchObject({ minute: { used: 5 }, day: { used: 5 }, month: { used: 5 } });
  });

  test('windows that ended are not in the usage, the history is', async () => {
    const caller = await newCaller(store());
    await store().admit(caller, NOW - 31 * DAY);
    await store().admit(caller, NOW - DAY);
    const { requests, keys } = await store().usage(caller.accountId, NOW);
    expect(requests).toMatchObject({ minute: { used: 0 }, day: { used: 0 }, month: { used: 1 } });
    expect(keys[0]).toMatchObject({
      requests: { minute: 0, day: 0, month: 1 },
      history: [{ date: '2026-02-07' }, { date: '2026-03-09' }],
    });
  });

  test('the history of each key has the last 30 days of use, oldest first', async () => {
    const caller = await newCaller(store());
    const second = await newKey(store(), caller.accountId);
    for (let day = 40; day > 0; day -= 1) {
      for (const one of [caller, second]) await store().admit(one, NOW - day * DAY);
    }
    const { keys } = await store().usage(caller.accountId, NOW);
    expect(keys.map(({ history }) => history.length)).toEqual([30, 30]);
    const dates = keys[0]?.history.map((day) => day.date) ?? [];
    expect(dates).toEqual(dates.toSorted());
    expect(dates.at(-1)).toBe('2026-03-09');
  });

  test('refusals by a limit are shown by minute and reason, newest first', async () => {
    const caller = await newCaller(store(), { requests_per_minute: 1, links: 2, batch_size: 3 });
    const later = NOW + 60_000;
    for (let n = 0; n < 3; n += 1) await store().admit(caller, NOW);
    await store().createBatch({ caller, input: newLinks(4), now: later });
    await store().createBatch({ caller, input: newLinks(3), now: later });
    await store().createJob({ caller, input: toJobInput(newLinks(101)), now: later });
    const { keys } = await store().usage(caller.accountId, later);
    expect(keys[0]?.recent_refusals).toEqual([
      { minute: '2026-03-10T12:31:00.000Z', reason: 'batch_size', count: 2 },
      { minute: '2026-03-10T12:31:00.000Z', reason: 'links', count: 1 },
      { minute: '2026-03-10T12:30:00.000Z', reason: 'minute', count: 2 },
    ]);
  });

  test('the last 20 refusals of each key are shown, and none for longer than a week, pruned or not', async () => {
    const caller = await newCaller(store(), { requests_per_day: 0, batch_size: 1 });
    for (let minute = 0; minute < 25; minute += 1) {
      await store().admit(caller, NOW + minute * 60_000);
    }
    // Two kinds in the last minute that is shown, and those of another key, which come later.
    await store().createBatch({ caller, input: newLinks(2), now: NOW + 5 * 60_000 });
    const second = await newKey(store(), caller.accountId);
    for (let minute = 25; minute < 50; minute += 1) {
      await store().admit(second, NOW + minute * 60_000);
    }
    const refusals = async (now: number) =>
      (await store().usage(caller.accountId, now)).keys[0]?.recent_refusals ?? [];
    const shown = await refusals(NOW + DAY);
    expect(shown).toHaveLength(20);
    expect(shown[0]).toEqual({ minute: '2026-03-10T12:54:00.000Z', reason: 'day', count: 1 });
    expect(shown.at(-1)?.minute).toBe('2026-03-10T12:35:00.000Z');
    await store().prune(NOW + 7 * DAY + 19 * 60_000);
    expect(await refusals(NOW + 7 * DAY)).toHaveLength(5);
    expect(await refusals(NOW + 8 * DAY)).toEqual([]);
  });

  test('a refusal a week ago to the minute, and a day of use 400 days ago, are still kept', async () => {
    const caller = await newCaller(store(), { requests_per_minute: 1 });
    const minute = NOW - (NOW % 60_000);
    for (let n = 0; n < 2; n += 1) await store().admit(caller, minute);
    const seen = async (now: number) => {
      await store().prune(now);
      const { keys } = await store().usage(caller.accountId, now);
      return [keys[0]?.recent_refusals?.length, keys[0]?.history.length];
    };
    expect(await seen(minute + 7 * DAY)).toEqual([1, 1]);
    expect(await seen(minute + 7 * DAY + 1)).toEqual([0, 1]);
    const midnight = NOW - (NOW % DAY);
    expect(await seen(midnight + 401 * DAY - 1)).toEqual([0, 1]);
    expect(await seen(midnight + 401 * DAY)).toEqual([0, 0]);
  });

  test('usage of an unknown account rejects', async () => {
    await expect(store().usage('acc_nobody', NOW)).rejects.toThrow('acc_nobody');
  });

  test('pruning keeps what current windows and retention need', async () => {
    const caller = await newCaller(store());
    const idempotency = { key: 'k', fingerprint: 'f' };
    for (const now of [NOW - DAY, NOW]) await store().admit(caller, now);
    await store().createLink({ caller, input: newLink(), now: NOW, idempotency });
    const jobId = await newJob(store(), caller, 101);
    await finishJob(store(), jobId);
    const before = await store().usage(caller.accountId, NOW);
    await store().prune(NOW);
    expect(await store().usage(caller.accountId, NOW)).toEqual(before);
    // An instance whose clock is behind still counts in the day before.
    const { requests } = await store().usage(caller.accountId, NOW - DAY);
    expect(requests.day.used).toBe(1);
    expect(await store().findJob(caller.accountId, jobId)).toMatchObject({ processed: 101 });
    const replay = { caller, input: newLink(), now: NOW, idempotency };
    expect(await store().createLink(replay)).toMatchObject({ replayed: true });
  });

  test('the last month is kept for a day, for an instance whose clock is still in it', async () => {
    const caller = await newCaller(store());
    const april = Date.UTC(2026, 3);
    await store().admit(caller, april - 1);
    await store().prune(april + DAY - 1);
    const { requests } = await store().usage(caller.accountId, april - 1);
    expect(requests.month.used).toBe(1);
  });

  test('a completed job is deleted a week later, an unfinished one never, and the links stay', async () => {
    const caller = await newCaller(store());
    const done = await newJob(store(), caller, 101);
    await finishJob(store(), done);
    const job = await store().findJob(caller.accountId, done);
    const code = (await resultsOf(store(), job))[0]?.code ?? '';
    const unfinished = await newJob(store(), caller, 101);
    await store().prune(NOW + 7 * DAY - 1);
    expect(await store().findJob(caller.accountId, done)).toBeDefined();
    await store().prune(NOW + 7 * DAY);
    expect(await store().findJob(caller.accountId, done)).toBeUndefined();
    expect(await store().pendingJobs()).toEqual([unfinished]);
    expect(await store().findLink(code)).toBeDefined();
    await finishJob(store(), unfinished);
    expect(await store().findJob(caller.accountId, unfinished)).toMatchObject({ processed: 101 });
  });

  /** Creates that many links with idempotency keys, and returns how many of these the store still knows. */
  async function createWithKeys(caller: Caller, count: number): Promise<() => Promise<number>> {
    const keys = Array.from({ length: count }, (_, n) => ({ key: `k${n}`, fingerprint: 'f' }));
    await Promise.all(
      keys.map((idempotency, n) =>
        store().createLink({ caller, input: newLink(n), now: NOW, idempotency }),
      ),
    );
    return async () => {
      let known = 0;
      // A few at a time: reads that all wait for the same connections are refused on a slow machine.
      for (let start = 0; start < count; start += 50) {
        const some = keys.slice(start, start + 50);
        const found = some.map((key) => store().findCreated(caller.accountId, key, NOW));
        known += (await Promise.all(found)).filter((response) => response !== undefined).length;
      }
      return known;
    };
  }

  test('pruning takes all that is old, however much it is', async () => {
    const caller = await newCaller(store());
    const known = await createWithKeys(caller, 2_500);
    for (let day = 0; day < 3; day += 1) await store().admit(caller, NOW - (401 + day) * DAY);
    await store().admit(caller, NOW);
    expect(await known()).toBe(2_500);
    await store().prune(NOW + DAY);
    expect(await known()).toBe(0);
    const { keys } = await store().usage(caller.accountId, NOW);
    expect(keys[0]?.history).toHaveLength(1);
    const jobs: string[] = [];
    for (let n = 0; n < 25; n += 1) jobs.push(await newJob(store(), caller, 1));
    for (const jobId of jobs) await finishJob(store(), jobId);
    await store().prune(NOW + 7 * DAY);
    const left = await Promise.all(jobs.map((id) => store().findJob(caller.accountId, id)));
    expect(left.filter((job) => job !== undefined)).toEqual([]);
  });

  test('pruning that is stopped ends after its step, and the next one takes the rest', async () => {
    const known = await createWithKeys(await newCaller(store()), 2_500);
    const stopping = new AbortController();
    const pruning = store().prune(NOW + DAY, stopping.signal);
    stopping.abort();
    await pruning;
    expect(await known()).toBeGreaterThan(0);
    await store().prune(NOW + DAY);
    expect(await known()).toBe(0);
  });

  test('closing finishes what was started; then everything rejects', async () => {
    const caller = await newCaller(store());
    const creates = newLinks(20).map((input) => store().createLink({ caller, input, now: NOW }));
    await store().close();
    expect((await Promise.all(creates)).every((outcome) => outcome.ok)).toBe(true);
    await expect(store().findRedirect('abc')).rejects.toMatchObject({
      name: 'StoreError',
      reason: 'closed',
    });
    await expect(store().admit(caller, NOW)).rejects.toMatchObject({ reason: 'closed' });
    await expect(store().close()).resolves.toBeUndefined();
  });

  test('the last days of use may be far apart, of each kind and key in other weeks, and of a revoked key', async () => {
    const caller = await newCaller(store());
    const other = await newKey(store(), caller.accountId);
    const dateOf = (day: number) => new Date(NOW - day * DAY).toISOString().slice(0, 10);
    const admitted: string[] = [];
    const created: string[] = [];
    for (let day = 240; day >= 0; day -= 6) {
      await store().admit(caller, NOW - day * DAY);
      admitted.push(dateOf(day));
    }
    for (let day = 399; day >= 0; day -= 4) {
      const input = newLinks(1);
      await store().createBatch({ caller: other, input, now: NOW - day * DAY });
      created.push(dateOf(day));
    }
    await store().revokeKey(other.keyId, NOW);
    const { history = [], keys } = await store().usage(caller.accountId, NOW);
    expect(keys.map((key) => key.history.map(({ date }) => date))).toEqual([admitted.slice(-30)]);
    const both = [...new Set([...admitted, ...created])].toSorted().slice(-90);
    expect(history.map(({ date }) => date)).toEqual(both);
  });
}
