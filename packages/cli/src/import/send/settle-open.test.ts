import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { answer, HOUR_MS, link, SENT_AT, SettleScene } from '../../../test/import/settle-scene.ts';
import { testFolder } from '../../../test/test-io.ts';

let scene: SettleScene;
beforeEach(async () => {
  scene = new SettleScene(await testFolder());
});
afterEach(() => {
  vi.useRealTimers();
  scene.journal.close();
});

test('nothing is done where nothing is open', async () => {
  expect(await scene.settle()).toEqual({
    isChanged: false,
    failure: undefined,
    links: [],
    open: 0,
  });
  expect(scene.events).toEqual([]);
});

describe('a request whose key the service knows', () => {
  test('is sent again as it was, and has its links', async () => {
    scene.sent(['a', 'b'], { key: 'k1' });
    scene.sent(['c'], { key: 'k2' });
    const settled = await scene.settle();
    expect(settled).toMatchObject({ isChanged: true, failure: undefined, open: 0 });
    expect(settled.links.map((row) => row['code'])).toEqual(['0000001', '0000002', '0000003']);
    expect(scene.service.keys).toEqual(['k1', 'k2']);
    expect(scene.service.asked.map((links) => links.length)).toEqual([2, 1]);
    expect(scene.events[0]).toEqual({ type: 'resuming', batches: 2, rows: 3 });
  });

  test.each([
    ['23 hours later', 23 * HOUR_MS, {}],
    ['before it was sent, by a clock that was set back', -HOUR_MS, {}],
    ['without --idempotency', HOUR_MS, { idempotency: false }],
  ])('is not sent again %s', async (_, ageMs, changes) => {
    scene.sent(['a'], { key: 'k1' });
    expect(await scene.settle(changes, ageMs)).toMatchObject({ isChanged: false, open: 1 });
    expect(scene.service.requests).toBe(0);
  });

  test.each([23 * HOUR_MS, -HOUR_MS])(
    'is never sent again once it has been %i ms old, whatever a clock that is set says later',
    async (ageMs) => {
      scene.sent(['a'], { key: 'k1' });
      await scene.settle({}, ageMs);
      expect(await scene.settle({}, 20 * HOUR_MS)).toMatchObject({ isChanged: false, open: 1 });
      expect(scene.service.requests).toBe(0);
      // No other request gets its key.
      expect(scene.journal.openBatches()[0]?.idempotencyKey).toBe('k1');
    },
  );

  test.each([23 * HOUR_MS - 1, 1 - HOUR_MS])('is sent again %i ms later', async (ageMs) => {
    scene.sent(['a'], { key: 'k1' });
    expect(await scene.settle({}, ageMs)).toMatchObject({ isChanged: true, open: 0 });
  });

  test('is sent again without the links that were refused, under the key of that request', async () => {
    scene.sent(['a', 'b', 'c'], { key: 'k1' });
    const details = [{ index: 1, field: 'domain_id', message: 'not registered' }];
    scene.service.fault = (n) =>
      n === 0 ? answer(400, { error: 'not valid', details }) : { type: 'lost', created: true };
    expect(await scene.settle()).toMatchObject({ open: 1 });
    // Now the service would take the link that it has refused, under the key of the whole batch.
    scene.service.fault = () => undefined;
    const settled = await scene.settle();
    expect(settled).toMatchObject({ isChanged: true, open: 0 });
    expect(settled.links).toEqual([link('a', '0000001'), link('c', '0000002')]);
    expect(scene.service.keys.at(-1)).toBe(scene.service.keys[1]);
    expect(scene.service.duplicates).toBe(0);
  });

  test('is not sent again after a wait for a rate limit that outlasts the key', async () => {
    vi.useFakeTimers();
    const wait = 4 * HOUR_MS;
    scene.service.fault = () => ({ ...answer(429), headers: { 'retry-after': `${wait / 1000}` } });
    scene.sent(['a'], { key: 'k1' });
    const client = scene.service.client({ maxRetries: 3, maxRetryAfterMs: 24 * HOUR_MS });
    const settling = scene.settle({}, 22 * HOUR_MS, client);
    await vi.advanceTimersByTimeAsync(2 * wait);
    expect(await settling).toMatchObject({ isChanged: false, failure: undefined, open: 1 });
    expect(scene.service.requests).toBe(1);
  });

  test('is sent again after a wait that does not', async () => {
    vi.useFakeTimers();
    scene.service.fault = (n) =>
      n === 0 ? { ...answer(429), headers: { 'retry-after': '1800' } } : undefined;
    scene.sent(['a'], { key: 'k1' });
    const client = scene.service.client({ maxRetries: 3, maxRetryAfterMs: HOUR_MS });
    const settling = scene.settle({}, 22 * HOUR_MS, client);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(await settling).toMatchObject({ isChanged: true, open: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is not sent again when no row asks for its links any more', async () => {
    scene.sent(['a'], { key: 'k1' });
    scene.sent(['b'], { key: 'k2' });
    scene.asksFor = ({ idempotencyKey }) => idempotencyKey === 'k2';
    expect(await scene.settle()).toMatchObject({ isChanged: true, open: 1 });
    expect(scene.service.keys).toEqual(['k2']);
  });

  test('is not sent again when the user stops the import', async () => {
    scene.sent(['a'], { key: 'k1' });
    scene.stop.abort();
    expect(await scene.settle()).toMatchObject({ isChanged: false, open: 1 });
    expect(scene.service.requests).toBe(0);
  });

  test('may have become a job, which is recorded before it is followed', async () => {
    scene.service.traits.syncLinks = 1;
    const recorded: unknown[] = [];
    scene.service.onPoll = () => {
      recorded.push(scene.journal.openBatches()[0]?.job);
      return undefined;
    };
    scene.sent(['a', 'b'], { key: 'k1' });
    expect(await scene.settle()).toMatchObject({ isChanged: true, open: 0 });
    expect(recorded).toEqual(['job-0']);
    expect(scene.journal.linksInJobs()).toBe(0);
  });

  test('stays open with its job when that can not be followed', async () => {
    scene.service.traits.syncLinks = 1;
    scene.service.onPoll = () => answer(501);
    scene.sent(['a', 'b'], { key: 'k1' });
    expect(await scene.settle()).toMatchObject({ failure: undefined, open: 1 });
    expect(scene.journal.openBatches()[0]?.job).toBe('job-0');
  });

  test('and whose job has failed has the links that the job made', async () => {
    scene.service.traits.syncLinks = 1;
    const results = [{ target_url: 'https://b.example/', code: 'x', short_url: 'https://s/x' }];
    const failed = { id: 'job-0', status: 'failed', total: 2, processed: 1, results };
    scene.service.onPoll = () => answer(200, failed);
    scene.sent(['a', 'b'], { key: 'k1' });
    expect((await scene.settle()).links).toEqual([
      link('a', null, expect.stringMatching(/job/i)),
      link('b', 'x'),
    ]);
  });

  test('and that is refused entry by entry has failed, so that its rows are new', async () => {
    const details = [{ index: 0, field: 'title', message: 'not allowed' }];
    scene.service.fault = () => answer(400, { error: 'not valid', details });
    scene.sent(['a'], { key: 'k1' });
    expect(await scene.settle()).toMatchObject({ isChanged: true, links: [], open: 0 });
  });

  test('and of which an entry is refused before the rest is lost has one row that is new', async () => {
    const details = [{ index: 0, field: 'title', message: 'not allowed' }];
    scene.service.fault = (n) =>
      n === 0 ? answer(400, { error: 'not valid', details }) : { type: 'lost', created: true };
    scene.sent(['a', 'b'], { key: 'k1' });
    const settled = await scene.settle();
    expect(settled).toMatchObject({ isChanged: true, failure: undefined, open: 1 });
    expect(settled.links).toEqual([link('b', null, expect.any(String))]);
  });

  test.each([
    ['whose size is refused', 413, {}],
    ['whose size is refused by a proxy that writes no JSON', 413, []],
    ['of which an entry is refused that is not named', 400, { error: 'not valid' }],
  ])('and %s was never carried out, so that its rows are new', async (_, status, body) => {
    scene.service.fault = (n) => (n === 0 ? answer(status, body) : undefined);
    scene.sent(['a', 'b'], { key: 'k1' });
    scene.sent(['c'], { key: 'k2' });
    const settled = await scene.settle();
    expect(settled).toMatchObject({ isChanged: true, failure: undefined, open: 0 });
    expect(settled.links).toEqual([link('c', '0000001')]);
    expect(scene.service.asked).toHaveLength(2);
  });

  test.each([
    [400, ['a', 'b']],
    [400, ['a']],
    [422, ['a', 'b']],
    [422, ['a']],
  ])('stays open when the %i for %j can not be read', async (status, targets) => {
    scene.service.fault = () => answer(status, []);
    scene.sent(targets, { key: 'k1' });
    expect(await scene.settle()).toMatchObject({ isChanged: false, failure: undefined, open: 1 });
  });

  test('ends the run when the next one would fail as well', async () => {
    scene.service.fault = () => answer(401);
    scene.sent(['a'], { key: 'k1' });
    scene.sent(['b'], { key: 'k2' });
    const settled = await scene.settle();
    expect(settled).toMatchObject({ isChanged: false, open: 2 });
    expect(settled.failure?.error).toMatchObject({ status: 401 });
    expect(scene.service.requests).toBe(1);
  });
});

describe('a request that a row asks for only once another one has been decided', () => {
  beforeEach(() => {
    for (const name of ['a', 'b', 'c']) scene.sent([name], { key: name });
    scene.service.fault = (_, [first]) =>
      first?.target_url.includes('b') ? { type: 'lost', created: true } : undefined;
    const looks = new Map<string, number>();
    scene.asksFor = ({ idempotencyKey = '' }) => {
      looks.set(idempotencyKey, (looks.get(idempotencyKey) ?? 0) + 1);
      return idempotencyKey !== 'c' || looks.get('c') === 2;
    };
  });

  test('is sent in the same run, and no other one a second time', async () => {
    scene.unknown = 1;
    expect(await scene.settle()).toMatchObject({ isChanged: true, open: 1 });
    expect(scene.service.keys).toEqual(['a', 'b', 'c']);
  });

  test('is not sent where the outcome of every row is known', async () => {
    expect(await scene.settle()).toMatchObject({ isChanged: true, open: 2 });
    expect(scene.service.keys).toEqual(['a', 'b']);
  });
});

describe('a request without a key', () => {
  test('stays open, since it may have created links', async () => {
    scene.sent(['a']);
    expect(await scene.settle()).toMatchObject({ isChanged: false, open: 1 });
  });

  test('is forgotten with --on-unknown retry, so that its rows are new', async () => {
    scene.sent(['a']);
    scene.sent(['b', 'c']);
    expect(await scene.settle({ onUnknown: 'retry' })).toEqual({
      isChanged: true,
      failure: undefined,
      links: [],
      open: 0,
    });
  });
});

test('links that a response left out are new under another key with --on-unknown retry', async () => {
  const batch = scene.journal.begin({
    links: [{ target_url: 'https://a.example/' }],
    sentAt: new Date(SENT_AT).toISOString(),
    idempotencyKey: 'k1',
    domain: undefined,
  });
  const results = [{ status: 'unknown', error: 'left out' }] as const;
  scene.journal.decide(batch, { results, isFinal: true });
  expect(await scene.settle()).toMatchObject({ isChanged: false });
  expect(await scene.settle({ onUnknown: 'retry' })).toMatchObject({
    isChanged: true,
    links: [],
  });
});
