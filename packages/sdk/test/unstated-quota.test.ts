import { describe, expect, it } from 'vitest';
import { isOutcomeUnknown } from '../src/errors/call-errors.ts';
import { json, LINK } from './answers.ts';
import { FakeClock, InstantClock, settle } from './fake-clock.ts';
import { makeClient } from './make-client.ts';

/** A clock that moves on by itself, to the next moment at which someone wakes, until nobody sleeps. */
class RunningClock extends FakeClock {
  protected override readonly wakesTogether = true;

  async run(isOver: () => boolean): Promise<void> {
    for (await settle(); !isOver(); await settle()) await this.advance(this.nextMs ?? 1_000);
  }
}

interface Service {
  /** Requests that the service takes in a window. */
  limit: number;
  windowMs: number;
  /** Where in its window the service is when the test begins. */
  startMs?: number;
  /** What other clients of the account send in each window before this one does. */
  others?: (window: number) => number;
  /** Milliseconds from the request to its response: of one that is taken, and of a 429. */
  latencyMs?: [taken: number, refused: number];
  retryAfter?: boolean;
}

/** A service that counts requests in fixed windows and says nothing of them but `Retry-After`: the one of the specification. */
function serve(clock: FakeClock, service: Service) {
  const { limit, windowMs, startMs = 0, others = () => 0, latencyMs = [50, 20] } = service;
  const used = new Map<number, number>();
  let refused = 0;
  const fetch = async () => {
    const time = startMs + clock.now();
    const window = Math.floor(time / windowMs);
    const count = (used.get(window) ?? others(window)) + 1;
    used.set(window, Math.min(count, limit));
    if (count <= limit) {
      await clock.delay(latencyMs[0]);
      return json(LINK, 201);
    }
    refused += 1;
    await clock.delay(latencyMs[1]);
    const seconds = Math.ceil((windowMs - (time % windowMs)) / 1000);
    const headers = service.retryAfter === false ? {} : { 'Retry-After': String(seconds) };
    return json({ error: 'too many' }, 429, headers);
  };
  return { fetch, refused: () => refused };
}

/** Creates this many links at once. */
async function play(count: number, service: Service) {
  const clock = new RunningClock();
  const { fetch, refused } = serve(clock, service);
  const { links } = makeClient({ fetch }, { clock, random: Math.random });
  const errors: unknown[] = [];
  let ended = 0;
  for (let n = 0; n < count; n += 1) {
    links
      .create({ target_url: 'https://example.com/' })
      .catch((error: unknown) => errors.push(error))
      .finally(() => {
        ended += 1;
      });
  }
  await clock.run(() => ended === count);
  return { errors, refused: refused(), windows: clock.now() / service.windowMs };
}

it('a wait that was only learned holds no call that accepts no such wait', async () => {
  const clock = new InstantClock();
  const { fetch, refused } = serve(clock, { limit: 1, windowMs: 60_000, latencyMs: [0, 0] });
  const { links } = makeClient({ fetch, maxRetryAfterMs: 1_000 }, { clock });
  const create = () => links.create({ target_url: LINK.target_url });
  await create();
  await expect(create()).rejects.toHaveProperty('name', 'RateLimitError');
  await expect(create()).rejects.toHaveProperty('name', 'RateLimitError');
  expect(refused()).toBe(2);
});

describe('a service that states no quota', () => {
  it.each<[string, Service]>([
    ['from the start of a window', { limit: 50, windowMs: 60_000 }],
    ['from the end of a window', { limit: 50, windowMs: 60_000, startMs: 53_000 }],
    [
      'with a 429 that comes after the successes',
      { limit: 50, windowMs: 60_000, latencyMs: [20, 400] },
    ],
    [
      'with a 429 that comes long before them',
      { limit: 50, windowMs: 60_000, latencyMs: [900, 5] },
    ],
    ['with windows of 10 s', { limit: 50, windowMs: 10_000, startMs: 2_500 }],
    ['with windows of a second', { limit: 50, windowMs: 1_000 }],
  ])('takes 500 creates at once on 50 a window, %s', async (_, service) => {
    const { errors, refused, windows } = await play(500, service);
    expect(errors).toEqual([]);
    // 450 of them cannot be known. After that, each 429 is a question whether more get through by now.
    expect(refused).toBeLessThan(800);
    expect(windows).toBeLessThan(12.5);
  });

  it('is shared with others, where a 429 comes before any success of its window', async () => {
    const others = (window: number) => (window % 3 === 0 ? 0 : 19);
    const service: Service = { limit: 20, windowMs: 10_000, latencyMs: [900, 5], others };
    const { errors } = await play(200, service);
    expect(errors).toEqual([]);
  });

  it('is shared with others, who leave more at one time than at another', async () => {
    const others = (window: number) => (window % 3 === 0 ? 80 : 20);
    const { errors, refused, windows } = await play(1_000, {
      limit: 100,
      windowMs: 60_000,
      others,
    });
    expect(errors).toEqual([]);
    expect(refused).toBeLessThan(2_000);
    expect(windows).toBeLessThan(26);
  });

  it('takes 100 creates on 15 a minute, the smallest plan', async () => {
    const { errors, refused } = await play(100, { limit: 15, windowMs: 60_000, startMs: 31_000 });
    expect(errors).toEqual([]);
    expect(refused).toBeLessThan(200);
  });

  it('that refuses for ever still ends in a RateLimitError, after six attempts', async () => {
    const { errors, refused } = await play(3, { limit: 0, windowMs: 60_000 });
    expect(errors).toEqual(Array(3).fill(expect.objectContaining({ name: 'RateLimitError' })));
    for (const error of errors) expect(isOutcomeUnknown(error)).toBe(false);
    expect(refused).toBe(18);
  });

  it('that refuses one call for ever while others get through ends that one too', async () => {
    const clock = new RunningClock();
    let refused = 0;
    const fetch = async (_: string, { method }: { method: string }) => {
      const headers = { 'Retry-After': '1' };
      if (method === 'GET') return json({ id: 'j', status: 'processing', total: 1 }, 200, headers);
      refused += 1;
      return json({ error: 'no' }, 429, headers);
    };
    const { links, jobs } = makeClient({ fetch }, { clock });
    let end: unknown;
    links.create({ target_url: 'x' }).catch((error: unknown) => {
      end = error;
    });
    const polling = new AbortController();
    jobs.wait('j', { timeoutMs: 0, signal: polling.signal }).catch(() => {});
    await clock.run(() => end !== undefined || refused > 100);
    polling.abort();
    expect(end).toHaveProperty('name', 'RateLimitError');
    expect(refused).toBeLessThanOrEqual(26);
  });

  it('holds back by time alone: requests that are never answered block no other', async () => {
    const clock = new RunningClock();
    let sent = 0;
    const fetch = () => {
      sent += 1;
      if (sent <= 10) return Promise.resolve(json(LINK, 201));
      if (sent === 11) return Promise.resolve(json({ error: 'no' }, 429, { 'Retry-After': '30' }));
      return new Promise<never>(() => {});
    };
    const { links } = makeClient({ fetch, timeoutMs: 0 }, { clock });
    const create = () => void links.create({ target_url: 'x' }).catch(() => {});
    for (let n = 0; n < 11; n += 1) create();
    await settle();
    for (let n = 0; n < 40; n += 1) create();
    await clock.advance(300_000);
    expect(sent).toBe(11 + 41);
  });

  it('never fails a call for what was only learned', async () => {
    const clock = new RunningClock();
    let sent = 0;
    const fetch = async () => {
      sent += 1;
      return sent === 3 ? json({ error: 'no' }, 429, { 'Retry-After': '10' }) : json(LINK, 201);
    };
    const { links } = makeClient({ fetch, maxRetries: 0 }, { clock });
    const create = () => links.create({ target_url: 'x' });
    await Promise.all([create(), create()]);
    await expect(create()).rejects.toHaveProperty('name', 'RateLimitError');
    await clock.advance(10_000);
    // Two got through before the 429. Each call after its pause may be the third again, and is asked.
    await Promise.all([create(), create(), create(), create()]);
    expect(sent).toBe(7);
  });
});
