import { join } from 'node:path';
import { type CreateManyOptions, JobTimeoutError } from '@shortlink/sdk';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FakeService } from '../../../test/import/fake-service.ts';
import { testFolder } from '../../../test/test-io.ts';
import type { ExistingLinks } from '../check/existing-links.ts';
import type { Journal, OpenBatch } from '../journal/journal.ts';
import { openJournal } from '../journal/open-journal.ts';
import { packResults } from '../journal/packed-results.ts';
import type { ImportDeps, ImportEvent, ImportSettings } from '../types.ts';
import { settleOpenBatches } from './settle-open.ts';

const HOUR_MS = 3_600_000;
const SENT_AT = Date.UTC(2026, 0, 1);

let service: FakeService;
let journal: Journal;
let events: ImportEvent[];
let asksFor: (batch: OpenBatch) => boolean;
let stop: AbortController;
/** Rows of unknown outcome, whenever they are compared. */
let unknown: number;

beforeEach(async () => {
  service = new FakeService();
  journal = openJournal(join(await testFolder(), 'journal'), 'https://api.example', false);
  events = [];
  asksFor = () => true;
  stop = new AbortController();
  unknown = 0;
});
afterEach(() => {
  vi.useRealTimers();
  journal.close();
});

/** An earlier run sent links to these targets, and ended before it had a response. */
function sent(targets: readonly string[], changes: { key?: string; job?: string } = {}): void {
  const links = targets.map((name) => ({ target_url: `https://${name}.example/` }));
  const id = journal.begin({
    links: JSON.stringify(links.map(({ target_url }) => `0000000${target_url}`)),
    size: links.length,
    sentAt: new Date(SENT_AT).toISOString(),
    idempotencyKey: changes.key,
    domain: undefined,
    body: changes.key && JSON.stringify(links),
  });
  if (changes.job !== undefined) journal.accepted(id, changes.job);
  journal.unpackBatches();
}

async function settle(
  changes: Partial<ImportSettings> = {},
  ageMs = HOUR_MS,
  client: object = service.client(),
) {
  const settings = { onUnknown: 'stop', idempotency: true, concurrency: 2, ...changes };
  const existing = {
    asksFor: (batch: OpenBatch) => asksFor(batch),
    compare: () => ({ unknown }),
  };
  const { comparison, needsNewKeys, failure } = await settleOpenBatches({
    journal,
    existing: existing as ExistingLinks,
    settings: settings as ImportSettings,
    deps: {
      client,
      onEvent: (event: ImportEvent) => events.push(event),
      signal: new AbortController().signal,
      stopSignal: stop.signal,
      wallClock: () => SENT_AT + ageMs,
    } as unknown as ImportDeps,
  });
  const links = journal.db.prepare('SELECT pair, code, error FROM link ORDER BY id').all();
  const isChanged = comparison !== undefined;
  return { isChanged, needsNewKeys, failure, links, open: journal.openBatches().length };
}

const link = (name: string, code: string | null, error: unknown = null) => ({
  pair: `https://${name}.example/`,
  code,
  error,
});
const refusal = (status: number, body: object = { error: 'no' }) =>
  ({ type: 'answer', status, body }) as const;

test('nothing is done where nothing is open', async () => {
  expect(await settle()).toEqual({
    isChanged: false,
    needsNewKeys: false,
    failure: undefined,
    links: [],
    open: 0,
  });
  expect(events).toEqual([]);
});

describe('a request whose key the service knows', () => {
  test('is sent again as it was, and has its links', async () => {
    sent(['a', 'b'], { key: 'k1' });
    sent(['c'], { key: 'k2' });
    const settled = await settle();
    expect(settled).toMatchObject({ isChanged: true, failure: undefined, open: 0 });
    expect(settled.links.map((row) => row['code'])).toEqual(['0000001', '0000002', '0000003']);
    expect(service.keys).toEqual(['k1', 'k2']);
    expect(service.asked.map((links) => links.length)).toEqual([2, 1]);
    expect(events[0]).toEqual({ type: 'resuming', batches: 2, rows: 3 });
  });

  test.each([
    ['23 hours later', 23 * HOUR_MS, {}],
    ['before it was sent, by a clock that was set back', -HOUR_MS, {}],
    ['without --idempotency', HOUR_MS, { idempotency: false }],
  ])('is not sent again %s', async (_, ageMs, changes) => {
    sent(['a'], { key: 'k1' });
    expect(await settle(changes, ageMs)).toMatchObject({ isChanged: false, open: 1 });
    expect(service.requests).toBe(0);
  });

  test.each([23 * HOUR_MS, -HOUR_MS])(
    'is never sent again once it has been %i ms old, whatever a clock that is set says later',
    async (ageMs) => {
      sent(['a'], { key: 'k1' });
      await settle({}, ageMs);
      expect(await settle({}, 20 * HOUR_MS)).toMatchObject({ isChanged: false, open: 1 });
      expect(service.requests).toBe(0);
      // No other request gets its key.
      expect(journal.openBatches()[0]?.idempotencyKey).toBe('k1');
    },
  );

  test.each([23 * HOUR_MS - 1, 1 - HOUR_MS])('is sent again %i ms later', async (ageMs) => {
    sent(['a'], { key: 'k1' });
    expect(await settle({}, ageMs)).toMatchObject({ isChanged: true, open: 0 });
  });

  test('is sent again without the links that were refused, under the key of that request', async () => {
    sent(['a', 'b', 'c'], { key: 'k1' });
    const details = [{ index: 1, field: 'domain_id', message: 'not registered' }];
    service.fault = (n) =>
      n === 0 ? refusal(400, { error: 'not valid', details }) : { type: 'lost', created: true };
    expect(await settle()).toMatchObject({ open: 1 });
    // Now the service would take the link that it has refused, under the key of the whole batch.
    service.fault = () => undefined;
    const settled = await settle();
    expect(settled).toMatchObject({ isChanged: true, open: 0 });
    expect(settled.links).toEqual([link('a', '0000001'), link('c', '0000002')]);
    expect(service.keys.at(-1)).toBe(service.keys[1]);
    expect(service.duplicates).toBe(0);
  });

  test('is not sent again after a wait for a rate limit that outlasts the key', async () => {
    vi.useFakeTimers();
    const wait = 4 * HOUR_MS;
    service.fault = () => ({ ...refusal(429), headers: { 'retry-after': `${wait / 1000}` } });
    sent(['a'], { key: 'k1' });
    const client = service.client({ maxRetries: 3, maxRetryAfterMs: 24 * HOUR_MS });
    const settling = settle({}, 22 * HOUR_MS, client);
    await vi.advanceTimersByTimeAsync(2 * wait);
    expect(await settling).toMatchObject({ isChanged: false, failure: undefined, open: 1 });
    expect(service.requests).toBe(1);
  });

  test('is sent again after a wait that does not', async () => {
    vi.useFakeTimers();
    service.fault = (n) =>
      n === 0 ? { ...refusal(429), headers: { 'retry-after': '1800' } } : undefined;
    sent(['a'], { key: 'k1' });
    const client = service.client({ maxRetries: 3, maxRetryAfterMs: HOUR_MS });
    const settling = settle({}, 22 * HOUR_MS, client);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(await settling).toMatchObject({ isChanged: true, open: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is not sent again when no row asks for its links any more', async () => {
    sent(['a'], { key: 'k1' });
    sent(['b'], { key: 'k2' });
    asksFor = ({ idempotencyKey }) => idempotencyKey === 'k2';
    expect(await settle()).toMatchObject({ isChanged: true, open: 1 });
    expect(service.keys).toEqual(['k2']);
  });

  test('is not sent again when the user stops the import', async () => {
    sent(['a'], { key: 'k1' });
    stop.abort();
    expect(await settle()).toMatchObject({ isChanged: false, open: 1 });
    expect(service.requests).toBe(0);
  });

  test('may have become a job, which is recorded before it is followed', async () => {
    service.syncLinks = 1;
    const recorded: unknown[] = [];
    service.onPoll = () => {
      recorded.push(journal.openBatches()[0]?.job);
      return undefined;
    };
    sent(['a', 'b'], { key: 'k1' });
    expect(await settle()).toMatchObject({ isChanged: true, open: 0 });
    expect(recorded).toEqual(['job-0']);
    expect(journal.linksInJobs()).toBe(0);
  });

  test('stays open with its job when that can not be followed', async () => {
    service.syncLinks = 1;
    service.onPoll = () => refusal(501);
    sent(['a', 'b'], { key: 'k1' });
    expect(await settle()).toMatchObject({ failure: undefined, open: 1 });
    expect(journal.openBatches()[0]?.job).toBe('job-0');
  });

  test('and whose job has failed has the links that the job made', async () => {
    service.syncLinks = 1;
    const results = [{ target_url: 'https://b.example/', code: 'x', short_url: 'https://s/x' }];
    const failed = { id: 'job-0', status: 'failed', total: 2, processed: 1, results };
    service.onPoll = () => refusal(200, failed);
    sent(['a', 'b'], { key: 'k1' });
    expect((await settle()).links).toEqual([
      link('a', null, expect.stringMatching(/job/i)),
      link('b', 'x'),
    ]);
  });

  test('and that is refused entry by entry has failed, so that its rows are new', async () => {
    const details = [{ index: 0, field: 'title', message: 'not allowed' }];
    service.fault = () => refusal(400, { error: 'not valid', details });
    sent(['a'], { key: 'k1' });
    expect(await settle()).toMatchObject({ isChanged: true, links: [], open: 0 });
  });

  test('and of which an entry is refused before the rest is lost has one row that is new', async () => {
    const details = [{ index: 0, field: 'title', message: 'not allowed' }];
    service.fault = (n) =>
      n === 0 ? refusal(400, { error: 'not valid', details }) : { type: 'lost', created: true };
    sent(['a', 'b'], { key: 'k1' });
    const settled = await settle();
    expect(settled).toMatchObject({ isChanged: true, failure: undefined, open: 1 });
    expect(settled.links).toEqual([link('b', null)]);
  });

  test.each([
    ['whose size is refused', 413, {}],
    ['whose size is refused by a proxy that writes no JSON', 413, []],
    ['of which an entry is refused that is not named', 400, { error: 'not valid' }],
  ])('and %s was never carried out, so that its rows are new', async (_, status, body) => {
    service.fault = (n) => (n === 0 ? refusal(status, body) : undefined);
    sent(['a', 'b'], { key: 'k1' });
    sent(['c'], { key: 'k2' });
    const settled = await settle();
    expect(settled).toMatchObject({ isChanged: true, failure: undefined, open: 0 });
    expect(settled.links).toEqual([link('c', '0000001')]);
    expect(service.asked).toHaveLength(2);
  });

  test.each([
    ['', ['a', 'b']],
    [' of a single link', ['a']],
  ])('stays open when the refusal%s can not be read', async (_, targets) => {
    service.fault = () => refusal(400, []);
    sent(targets, { key: 'k1' });
    expect(await settle()).toMatchObject({ isChanged: false, failure: undefined, open: 1 });
  });

  test('ends the run when the next one would fail as well', async () => {
    service.fault = () => refusal(401);
    sent(['a'], { key: 'k1' });
    sent(['b'], { key: 'k2' });
    const settled = await settle();
    expect(settled).toMatchObject({ isChanged: false, open: 2 });
    expect(settled.failure?.error).toMatchObject({ status: 401 });
    expect(service.requests).toBe(1);
  });
});

describe('a request that a row asks for only once another one has been decided', () => {
  beforeEach(() => {
    for (const name of ['a', 'b', 'c']) sent([name], { key: name });
    service.fault = (_, [first]) =>
      first?.target_url.includes('b') ? { type: 'lost', created: true } : undefined;
    const looks = new Map<string, number>();
    asksFor = ({ idempotencyKey = '' }) => {
      looks.set(idempotencyKey, (looks.get(idempotencyKey) ?? 0) + 1);
      return idempotencyKey !== 'c' || looks.get('c') === 2;
    };
  });

  test('is sent in the same run, and no other one a second time', async () => {
    unknown = 1;
    expect(await settle()).toMatchObject({ isChanged: true, open: 1 });
    expect(service.keys).toEqual(['a', 'b', 'c']);
  });

  test('is not sent where the outcome of every row is known', async () => {
    expect(await settle()).toMatchObject({ isChanged: true, open: 2 });
    expect(service.keys).toEqual(['a', 'b']);
  });
});

describe('a request without a key', () => {
  test('stays open, since it may have created links', async () => {
    sent(['a']);
    expect(await settle()).toMatchObject({ isChanged: false, open: 1 });
  });

  test('is forgotten with --on-unknown retry, so that its rows are new', async () => {
    sent(['a']);
    sent(['b', 'c']);
    expect(await settle({ onUnknown: 'retry' })).toEqual({
      isChanged: true,
      needsNewKeys: false,
      failure: undefined,
      links: [],
      open: 0,
    });
  });
});

test('links that a response left out are new under another key with --on-unknown retry', async () => {
  const id = journal.begin({
    links: JSON.stringify(['0000000https://a.example/']),
    size: 1,
    sentAt: new Date(SENT_AT).toISOString(),
    idempotencyKey: 'k1',
    domain: undefined,
    body: '[]',
  });
  journal.completed(id, { prefix: '', items: [{ error: '' }] });
  journal.unpackBatches();
  expect(await settle()).toMatchObject({ isChanged: false, needsNewKeys: false });
  expect(await settle({ onUnknown: 'retry' })).toMatchObject({
    isChanged: true,
    needsNewKeys: true,
    links: [],
  });
});

describe('a job', () => {
  const jobOf = (results: object[], status = 'completed') =>
    refusal(200, { id: 'j', status, total: 1, processed: results.length, results });
  const made = (name: string, code: string) => ({
    target_url: `https://${name}.example/`,
    code,
    short_url: `https://s.example/${code}`,
  });

  test('is polled to its end, and progress is reported', async () => {
    sent(['a'], { job: 'j1' });
    sent(['b'], { job: 'j2' });
    sent(['c'], { job: 'j3' });
    service.onPoll = (id) => jobOf([made({ j1: 'a', j2: 'b', j3: 'c' }[id] ?? '', id)]);
    const settled = await settle();
    expect(settled).toMatchObject({ isChanged: true, failure: undefined, open: 0 });
    expect(settled.links).toEqual([link('a', 'j1'), link('b', 'j2'), link('c', 'j3')]);
    expect(events).toContainEqual({ type: 'batch-accepted', first: 0, count: 1, jobId: 'j2' });
    expect(events).toContainEqual({ type: 'job-progress', jobId: 'j3', processed: 1, total: 1 });
    expect(service.requests).toBe(3);
  });

  test('is polled even where the request could be sent again', async () => {
    sent(['a'], { job: 'j1', key: 'k1' });
    service.onPoll = () => jobOf([made('a', 'x')]);
    await settle();
    expect(service.asked).toEqual([]);
  });

  test('of which an entry was seen refused gives its code to the other link of that target', async () => {
    sent(['a', 'b', 'a'], { job: 'j1' });
    const refused = { target_url: 'https://a.example/', error: 'title is refused' };
    const [batch] = journal.openBatches();
    const ids = batch && journal.linksOf(batch).map(({ id }) => id);
    journal.unknown(batch?.id ?? 0, packResults([refused], 'The job takes too long'), 'j1', ids);
    service.onPoll = () => jobOf([refused, made('b', 'x'), made('a', 'y')]);
    expect((await settle()).links).toEqual([link('b', 'x'), link('a', 'y')]);
  });

  test('that is not over has the links that were seen, and is polled by a later run', async () => {
    sent(['a', 'b'], { job: 'j1' });
    const results = [made('a', 'x'), { target_url: 'https://b.example/' }];
    const error = new JobTimeoutError('The job takes too long', {
      jobId: 'j1',
      timeoutMs: HOUR_MS,
    });
    const event = { type: 'unknown', first: 0, count: 2, error, results, job_id: 'j1' } as const;
    const createMany = (_: unknown, { onBatch }: CreateManyOptions) => {
      onBatch?.(event);
      return [];
    };
    const settled = await settle({}, HOUR_MS, { links: { createMany } });
    expect(settled).toMatchObject({ isChanged: true, open: 1 });
    expect(settled.links).toEqual([link('a', 'x'), link('b', null)]);
    expect(journal.openBatches()[0]?.job).toBe('j1');
  });

  test('gives no link the result of one on another domain', async () => {
    const id = journal.begin({
      links: JSON.stringify(['dom_a', 'dom_b'].map((name) => `0000000https://a.example/\n${name}`)),
      size: 2,
      sentAt: new Date(SENT_AT).toISOString(),
      idempotencyKey: undefined,
      domain: undefined,
      body: undefined,
    });
    journal.accepted(id, 'j1');
    journal.unpackBatches();
    // The other one was refused before the job was accepted, and the import ended before that was recorded.
    service.onPoll = () => jobOf([made('a', 'x')]);
    expect((await settle()).links).toMatchObject([{ code: null }, { code: null }]);
  });

  test('that has failed has made the links that it names', async () => {
    sent(['a', 'b'], { job: 'j1' });
    service.onPoll = () => jobOf([made('b', 'x')], 'failed');
    const settled = await settle();
    expect(settled).toMatchObject({ isChanged: true, open: 0 });
    expect(settled.links).toEqual([link('a', null, expect.any(String)), link('b', 'x')]);
  });

  test('on another domain is compared by the target URL alone', async () => {
    journal.accepted(
      journal.begin({
        links: JSON.stringify(['0000000https://a.example/\ndom_a']),
        size: 1,
        sentAt: new Date(SENT_AT).toISOString(),
        idempotencyKey: undefined,
        domain: 'dom_a',
        body: undefined,
      }),
      'j1',
    );
    journal.unpackBatches();
    service.onPoll = () => jobOf([made('x', 'x0'), made('a', 'x1')]);
    expect((await settle()).links).toMatchObject([{ code: 'x1' }]);
  });

  test.each([
    ['stop', undefined],
    ['retry', undefined],
    ['retry', 'k1'],
  ] as const)(
    'that can not be polled now is polled by a later run, with --on-unknown %s and key %s',
    async (onUnknown, key) => {
      sent(['a'], { job: 'j1', ...(key && { key }) });
      service.onPoll = () => refusal(501);
      const settled = await settle({ onUnknown });
      expect(settled).toMatchObject({ isChanged: false, failure: undefined, open: 1 });
      expect(journal.openBatches()[0]?.job).toBe('j1');
      expect(service.asked).toEqual([]);
    },
  );

  test('that is not found is not asked for again under its key, which would stand for the same job', async () => {
    sent(['a'], { job: 'j1', key: 'k1' });
    service.onPoll = () => refusal(404);
    expect(await settle()).toMatchObject({ links: [link('a', null)], open: 1 });
    expect(await settle()).toMatchObject({ needsNewKeys: false, open: 1 });
    expect(await settle({ onUnknown: 'retry' })).toMatchObject({
      needsNewKeys: true,
      links: [],
      open: 0,
    });
    expect(service.asked).toEqual([]);
  });

  test('that is gone is forgotten with --on-unknown retry, so that its rows are new', async () => {
    sent(['a'], { job: 'j1' });
    service.onPoll = () => refusal(404);
    const settled = await settle({ onUnknown: 'retry' });
    expect(settled).toMatchObject({ isChanged: true, links: [], open: 0 });
  });

  test.each(['the first is refused', 'the user stops the import'])(
    'is not polled when %s',
    async (why) => {
      for (const job of ['j1', 'j2', 'j3']) sent([job], { job });
      service.onPoll = () => {
        if (why === 'the first is refused') return refusal(401);
        stop.abort();
        return undefined;
      };
      expect(await settle({ concurrency: 1 })).toMatchObject({ open: 3 });
      expect(service.requests).toBe(1);
    },
  );

  test.each([401, 403])('whose poll is refused with %i ends the run', async (status) => {
    sent(['a'], { job: 'j1' });
    sent(['b'], { key: 'k1' });
    service.onPoll = () => refusal(status);
    const settled = await settle();
    expect(settled).toMatchObject({ isChanged: false, open: 2 });
    expect(settled.failure?.error).toMatchObject({ status });
    expect(service.asked).toEqual([]);
  });
});
