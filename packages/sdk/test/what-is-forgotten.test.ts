import { afterEach, describe, expect, it, vi } from 'vitest';
import { createMany } from '../src/bulk/create-many.ts';
import { Shortlink } from '../src/client.ts';
import { JOB, json, LINK } from './answers.ts';
import { FakeClock, InstantClock, settle } from './fake-clock.ts';
import { FakeService, links as someLinks } from './fake-service.ts';
import { API_KEY, BASE_URL, makeClient } from './make-client.ts';

const HOUR_MS = 3_600_000;
const link = { target_url: LINK.target_url };
const processing = { ...JOB, status: 'processing', total: 2, processed: 0, results: [] };
const accepted = (job_id: string) => ({ job_id, status: 'processing', total: 101 });

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A `fetch` that gives these responses in turn, and the last one again and again; `lost` is a connection that breaks. */
function inTurn(responses: readonly ('lost' | (() => Response))[]) {
  const at: number[] = [];
  const clock = new InstantClock();
  const fetch = async () => {
    at.push(clock.now());
    const next = responses[Math.min(at.length, responses.length) - 1];
    if (next === undefined || next === 'lost') throw new TypeError('fetch failed');
    return next();
  };
  return { fetch, clock, at };
}

describe('what a call remembers of its earlier attempts', () => {
  it('is since when its key may be forgotten: the first lost attempt counts, not the last', async () => {
    const later = () => json({ error: 'later' }, 503, { 'Retry-After': String(12 * 3_600) });
    const { fetch, clock, at } = inTurn(['lost', later, 'lost', later, () => json(LINK, 201)]);
    const options = { fetch, idempotency: true, maxRetryAfterMs: 24 * HOUR_MS };
    const { links } = makeClient(options, { clock });
    await expect(links.create(link)).rejects.toMatchObject({ outcome: 'unknown' });
    // The next one would come a day after the first: by then the service has forgotten the key, and makes a second link.
    expect(at).toHaveLength(4);
  });

  it('is no 429 that pauses the others once more when its key may be forgotten', async () => {
    const later = () => json({ error: 'no' }, 429, { 'Retry-After': String(12 * 3_600) });
    const { fetch, clock, at } = inTurn(['lost', later, later, () => json(LINK, 201)]);
    const options = { fetch, idempotency: true, maxRetryAfterMs: 24 * HOUR_MS };
    const { links } = makeClient(options, { clock });
    await expect(links.create(link)).rejects.toMatchObject({ outcome: 'unknown' });
    await links.create(link);
    expect((at[3] ?? 0) - (at[2] ?? 0)).toBe(12 * HOUR_MS);
  });

  it('is since when its key may be forgotten, also while the machine sleeps and the clock of the client stands still', async () => {
    const { fetch, clock, at } = inTurn(['lost', () => json(LINK, 201)]);
    vi.spyOn(clock, 'date').mockImplementation(() => (at.length === 0 ? 0 : 24 * HOUR_MS));
    const { links } = makeClient({ fetch, idempotency: true }, { clock });
    await expect(links.create(link)).rejects.toMatchObject({ outcome: 'unknown' });
    expect(at).toHaveLength(1);
  });

  // Where the service does not say when to come back, each refusal costs a retry.
  it.each([
    ['1', 4],
    [undefined, 3],
  ])(
    'is who has overtaken it since it was refused last: that others got through costs no retry once, and not for ever (%s)',
    async (retryAfter, attempts) => {
      const headers: Record<string, string> = retryAfter ? { 'Retry-After': retryAfter } : {};
      const clock = new FakeClock();
      let requests = 0;
      const fetch = async (_: string, { body }: { body?: unknown }) => {
        if (String(body).includes('other')) return json(LINK, 201);
        requests += 1;
        await clock.delay(100);
        return json({ error: 'too many' }, 429, headers);
      };
      const { links } = makeClient({ fetch, maxRetries: 2 }, { clock });
      const refused = links.create(link).catch((error: unknown) => error);
      await clock.advance(100);
      const other = links.create({ target_url: 'https://other.example' });
      await clock.advance(600_000);
      await other;
      expect(await refused).toMatchObject({ status: 429 });
      expect(requests).toBe(attempts);
    },
  );
});

describe('what a wait for a job remembers', () => {
  const unreadable = () => json('?');
  const down = () => json({ error: 'down' }, 503);
  const running = () => json(processing);
  const done = () => json({ ...JOB, total: 2, results: [...JOB.results, ...JOB.results] });

  it('is not the odd polls before a good one', async () => {
    const odd = Array.from({ length: 5 }, () => unreadable);
    const { fetch, clock, at } = inTurn([...odd, running, ...odd, done]);
    const { jobs } = makeClient({ fetch }, { clock });
    await expect(jobs.wait('j')).resolves.toMatchObject({ status: 'completed' });
    expect(at).toHaveLength(12);
  });

  it('is not the failed polls before a good one: the next failure backs off from the beginning', async () => {
    const { fetch, clock, at } = inTurn([down, down, down, down, running, down, done]);
    const { jobs } = makeClient({ fetch }, { clock });
    await jobs.wait('j');
    const waits = at.map((time, index) => time - (at[index - 1] ?? 0));
    expect(waits.slice(1, 5)).toEqual([500, 1_000, 2_000, 4_000]);
    expect(waits[6]).toBe(500);
  });
});

describe('what a client remembers of accepted jobs', () => {
  const serve = (polls: string[]) => async (url: string, init: { method: string }) => {
    const id = url.split('/').at(-1) ?? '';
    if (init.method === 'POST') {
      return json(accepted(`j${posted++}`), 202, { 'Retry-After': '60' });
    }
    polls.push(id);
    return json({ ...JOB, id, total: 1 });
  };
  let posted = 0;
  afterEach(() => {
    posted = 0;
  });

  it('is when to poll one first: of the last thousand, and once', async () => {
    const polls: string[] = [];
    const clock = new InstantClock();
    const { links, jobs } = makeClient({ fetch: serve(polls) }, { clock });
    for (let batch = 0; batch < 1_001; batch += 1) await links.createBatch({ links: [link] });
    const firstWait = async (id: string) => {
      const before = clock.delays.length;
      await jobs.wait(id);
      return clock.delays[before];
    };
    expect(await firstWait('j1000')).toBe(60_000);
    // That minute has passed for the others as well.
    expect(await firstWait('j1')).toBe(0);
    const unknown = await firstWait('j0');
    expect(unknown).toBeGreaterThan(0);
    expect(await firstWait('j1000')).toBe(unknown);
  });

  it('is nothing of those of another address', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const polls: string[] = [];
    const client = new Shortlink({ apiKey: API_KEY, baseUrl: BASE_URL, fetch: serve(polls) });
    await client.links.createBatch({ links: [link] });
    const other = client.withOptions({ baseUrl: 'https://other.example.com' });
    const job = other.jobs.wait('j0');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(polls).toEqual(['j0']);
    await job;
  });
});

describe('what the limits of a service leave behind', () => {
  it('is no pause that a call could refuse to wait for, where the service asked for none', async () => {
    const clock = new FakeClock();
    const answers = [() => json({ error: 'too many' }, 429)];
    const fetch = async () => answers.pop()?.() ?? json(LINK, 201);
    const { links } = makeClient({ fetch, maxRetryAfterMs: 100 }, { clock });
    const first = links.create(link);
    await settle();
    const second = links.create(link);
    await clock.advance(500);
    expect(await Promise.all([first, second])).toHaveLength(2);
  });

  it('is a quota that quiet windows do not lower', async () => {
    const clock = new FakeClock();
    const [limit, windowMs] = [20, 10_000];
    const used = new Map<number, number>();
    let sent = 0;
    const fetch = async () => {
      sent += 1;
      const window = Math.floor(clock.now() / windowMs);
      const count = (used.get(window) ?? 0) + 1;
      used.set(window, count);
      const seconds = Math.ceil((windowMs - (clock.now() % windowMs)) / 1_000);
      if (count <= limit) return json(LINK, 201);
      return json({ error: 'too many' }, 429, { 'Retry-After': String(seconds) });
    };
    const { links } = makeClient({ fetch }, { clock });
    const create = () => links.create(link);
    const first = Promise.all(Array.from({ length: 30 }, create));
    await clock.advance(4 * windowMs);
    await first;
    for (let window = 0; window < 5; window += 1) {
      await create();
      await clock.advance(windowMs);
    }
    sent = 0;
    const last = Promise.all(Array.from({ length: limit }, create));
    await settle();
    expect(sent).toBe(limit);
    await last;
  });
});

describe('what a run of createMany leaves behind', () => {
  it('is no listener of a batch: a long run would keep each of them in memory', async () => {
    const listeners = new Map<EventTarget, number>();
    const count = (signal: EventTarget, by: number) =>
      listeners.set(signal, (listeners.get(signal) ?? 0) + by);
    const { addEventListener, removeEventListener } = AbortSignal.prototype;
    vi.spyOn(AbortSignal.prototype, 'addEventListener').mockImplementation(function (
      this: AbortSignal,
      ...args
    ) {
      count(this, 1);
      Reflect.apply(addEventListener, this, args);
    });
    vi.spyOn(AbortSignal.prototype, 'removeEventListener').mockImplementation(function (
      this: AbortSignal,
      ...args
    ) {
      count(this, -1);
      Reflect.apply(removeEventListener, this, args);
    });
    let most = 0;
    for await (const _ of createMany(new FakeService(), someLinks(60), { batchSize: 1 })) {
      most = Math.max(most, ...listeners.values());
    }
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(30);
  });

  it('is no item, once its loop was left', async () => {
    const items = createMany(new FakeService(), someLinks(10), { batchSize: 5 });
    await items.next();
    await items.return();
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });
});
