import { expect, test } from 'vitest';
import { NOW, newCaller, newKey } from './fixtures.test-suite.ts';
import type { UseStore } from './use-store.test-suite.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

export function testAdmission(useStore: UseStore): void {
  const store = useStore();

  test('an admitted request counts in its minute, day and month', async () => {
    const caller = await newCaller(store(), { requests_per_minute: 15, requests_per_day: 100 });
    await store().admit(caller, NOW);
    const minute = { name: 'minute', startsAt: Date.UTC(2026, 2, 10, 12, 30) };
    const day = { name: 'day', startsAt: Date.UTC(2026, 2, 10) };
    const month = { name: 'month', startsAt: Date.UTC(2026, 2) };
    expect(await store().admit(caller, NOW)).toEqual({
      admitted: true,
      windows: [
        { ...minute, limit: 15, used: 2, endsAt: Date.UTC(2026, 2, 10, 12, 31) },
        { ...day, limit: 100, used: 2, endsAt: Date.UTC(2026, 2, 11) },
        { ...month, limit: null, used: 2, endsAt: Date.UTC(2026, 3) },
      ],
    });
  });

  for (const [limit, window] of [
    ['requests_per_minute', 'minute'],
    ['requests_per_day', 'day'],
    ['requests_per_month', 'month'],
  ] as const) {
    test(`of 3L simultaneous requests exactly L pass the ${window}`, async () => {
      const caller = await newCaller(store(), { [limit]: 40 });
      const second = await newKey(store(), caller.accountId);
      const answers = await Promise.all(
        Array.from({ length: 120 }, (_, n) => store().admit(n % 2 === 0 ? caller : second, NOW)),
      );
      expect(answers.filter((answer) => answer.admitted)).toHaveLength(40);
      const refused = answers.find((answer) => !answer.admitted);
      expect(refused).toMatchObject({ refusedBy: { name: window, limit: 40, used: 40 } });
      const { requests, keys } = await store().usage(caller.accountId, NOW);
      expect(requests).toMatchObject({
        minute: { used: 40 },
        day: { used: 40 },
        month: { used: 40 },
      });
      expect(keys.map((key) => key.history[0]?.refused).reduce(sum)).toBe(80);
      expect(keys.map((key) => key.requests.day).reduce(sum)).toBe(40);
    });
  }

  test('a refused request counts in no window, so waiting until the end of the window succeeds', async () => {
    const caller = await newCaller(store(), { requests_per_minute: 1, requests_per_day: 2 });
    await store().admit(caller, NOW);
    for (let n = 0; n < 5; n += 1) await store().admit(caller, NOW);
    const refused = await store().admit(caller, NOW);
    if (refused.admitted) throw new Error('admitted');
    expect(refused.windows.map((window) => window.used)).toEqual([1, 1, 1]);
    const { endsAt } = refused.refusedBy;
    expect(await store().admit(caller, endsAt - 1)).toMatchObject({ admitted: false });
    expect(await store().admit(caller, endsAt)).toMatchObject({ admitted: true });
  });

  test('of several full windows, the one that ends last refuses', async () => {
    const caller = await newCaller(store(), { requests_per_minute: 1, requests_per_day: 1 });
    await store().admit(caller, NOW);
    const refused = await store().admit(caller, NOW);
    expect(refused).toMatchObject({ refusedBy: { name: 'day' } });
  });

  test('a new day frees the day, but not the month', async () => {
    const caller = await newCaller(store(), { requests_per_day: 1, requests_per_month: 2 });
    const today = Date.UTC(2026, 1, 26, 23, 59, 59, 999);
    expect(await store().admit(caller, today)).toMatchObject({ admitted: true });
    expect(await store().admit(caller, today)).toMatchObject({ refusedBy: { name: 'day' } });
    expect(await store().admit(caller, today + 1)).toMatchObject({ admitted: true });
    const refused = await store().admit(caller, today + 1);
    expect(refused).toMatchObject({ refusedBy: { name: 'month', endsAt: Date.UTC(2026, 2) } });
    expect(await store().admit(caller, Date.UTC(2026, 2))).toMatchObject({ admitted: true });
  });

  test('a clock that steps back finds the counters of the earlier window', async () => {
    const caller = await newCaller(store(), { requests_per_minute: 1 });
    await store().admit(caller, NOW);
    expect(await store().admit(caller, NOW + MINUTE)).toMatchObject({ admitted: true });
    expect(await store().admit(caller, NOW)).toMatchObject({ admitted: false });
  });

  test('a request from a clock that is behind changes nothing of a later minute of its key', async () => {
    const caller = await newCaller(store());
    for (const now of [NOW, NOW, NOW + MINUTE, NOW]) await store().admit(caller, now);
    const { keys } = await store().usage(caller.accountId, NOW + MINUTE);
    expect(keys[0]?.requests).toMatchObject({ minute: 1, day: 4 });
  });

  test('so do several, one after the other', async () => {
    const caller = await newCaller(store());
    for (const now of [NOW + MINUTE, NOW + MINUTE, NOW, NOW]) await store().admit(caller, now);
    const [key] = (await store().usage(caller.accountId, NOW + MINUTE)).keys;
    expect(key?.requests).toMatchObject({ minute: 2, day: 4 });
  });

  test('a limit of 0 admits nothing', async () => {
    const caller = await newCaller(store(), { requests_per_minute: 0 });
    expect(await store().admit(caller, NOW)).toMatchObject({ refusedBy: { used: 0, limit: 0 } });
  });

  test('accounts do not share counters', async () => {
    const one = await newCaller(store(), { requests_per_minute: 1 });
    const other = await newCaller(store(), { requests_per_minute: 1 });
    expect(await store().admit(one, NOW)).toMatchObject({ admitted: true });
    expect(await store().admit(other, NOW)).toMatchObject({ admitted: true });
  });

  test('a refund makes place for one request, in every window and in the history', async () => {
    const caller = await newCaller(store(), { requests_per_day: 1 });
    await store().admit(caller, NOW);
    await store().refund(caller, NOW);
    const { requests, keys } = await store().usage(caller.accountId, NOW);
    expect(requests).toMatchObject({ minute: { used: 0 }, day: { used: 0 }, month: { used: 0 } });
    expect(keys[0]).toMatchObject({ requests: { minute: 0, day: 0, month: 0 } });
    expect(await store().admit(caller, NOW)).toMatchObject({ admitted: true });
    expect(await store().admit(caller, NOW)).toMatchObject({ admitted: false });
  });

  test('a refund takes nothing from another key of the account, nor from another account', async () => {
    const caller = await newCaller(store());
    const second = await newKey(store(), caller.accountId);
    const stranger = await newCaller(store());
    for (const one of [caller, second, stranger]) await store().admit(one, NOW);
    await store().refund(caller, NOW);
    const { requests, keys } = await store().usage(caller.accountId, NOW);
    expect(requests).toMatchObject({ minute: { used: 1 }, day: { used: 1 }, month: { used: 1 } });
    expect(keys.map((key) => key.requests.minute)).toEqual([0, 1]);
    const { requests: others } = await store().usage(stranger.accountId, NOW);
    expect(others).toMatchObject({ minute: { used: 1 }, day: { used: 1 }, month: { used: 1 } });
  });

  test('a refund takes nothing from windows that began since, and never counts below 0', async () => {
    const caller = await newCaller(store());
    await store().admit(caller, NOW);
    await store().admit(caller, NOW + DAY);
    await store().refund(caller, NOW);
    await store().refund(caller, NOW);
    const { requests, keys } = await store().usage(caller.accountId, NOW + DAY);
    expect(requests).toMatchObject({ minute: { used: 1 }, day: { used: 1 }, month: { used: 0 } });
    expect(keys[0]?.requests).toMatchObject({ minute: 1, day: 1 });
    expect(keys[0]?.history.map((day) => day.requests)).toEqual([0, 1]);
    const { requests: before } = await store().usage(caller.accountId, NOW);
    expect(before).toMatchObject({ minute: { used: 0 }, day: { used: 0 } });
  });

  test('so does one in the same minute, or in the next', async () => {
    const caller = await newCaller(store());
    await store().admit(caller, NOW);
    for (let n = 0; n < 2; n += 1) await store().refund(caller, NOW);
    const shown = async (now: number) => {
      const { requests, keys } = await store().usage(caller.accountId, now);
      return [requests.minute.used, requests.day.used, keys[0]?.requests.minute];
    };
    expect(await shown(NOW)).toEqual([0, 0, 0]);
    for (const now of [NOW, NOW + MINUTE]) await store().admit(caller, now);
    await store().refund(caller, NOW);
    expect(await shown(NOW + MINUTE)).toEqual([1, 1, 1]);
  });

  test('simultaneous requests under an old and a new limit have the limit of each', async () => {
    const caller = await newCaller(store(), { requests_per_minute: 1 });
    const changed = { ...caller, limits: { ...caller.limits, requests_per_minute: null } };
    const admissions = await Promise.all(
      [caller, caller, changed, changed].map((one) => store().admit(one, NOW)),
    );
    expect(admissions.map(({ admitted }) => admitted)).toEqual([true, false, true, true]);
  });
}

const sum = (total = 0, value = 0) => total + value;
