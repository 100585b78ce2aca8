import { describe, expect, it } from 'vitest';
import { RateLimitError } from '../src/errors/api-errors.ts';
import type { CooldownEvent } from '../src/http/watching.ts';
import type { ShortlinkOptions } from '../src/options.ts';
import { JOB, json, LINK } from './answers.ts';
import { FakeClock, InstantClock, settle } from './fake-clock.ts';
import { FakeFetch } from './fake-fetch.ts';
import { makeClient } from './make-client.ts';

function setUp(options: ShortlinkOptions = {}) {
  const clock = new FakeClock();
  const network = new FakeFetch();
  const cooldowns: CooldownEvent[] = [];
  const hooks = { onCooldown: (event: CooldownEvent) => cooldowns.push(event) };
  const client = makeClient({ fetch: network.fetch, hooks, ...options }, { clock });
  const answer = (index: number, response: Response) => network.answer(index, response);
  return { ...client, clock, sent: network.sent, answer, cooldowns };
}

function create({ links }: Pick<ReturnType<typeof setUp>, 'links'>, maxRetries?: number) {
  const created = links.create({ target_url: LINK.target_url }, { maxRetries });
  // Where a test only watches when requests are sent, they get no response, and time out when other tests run.
  created.catch(() => {});
  return created;
}
const tooMany = (retryAfter: string, headers: Record<string, string> = {}) =>
  json({ error: 'limit of 60 requests per minute' }, 429, {
    'Retry-After': retryAfter,
    ...headers,
  });

describe('Retry-After', () => {
  it.each([
    ['34', 34_000],
    ['1.5', 1500],
    ['Fri, 20 Nov 2026 00:00:42 GMT', 42_000],
    ['Friday, 20-Nov-26 00:00:42 GMT', 42_000],
    ['Fri Nov 20 00:00:42 2026', 42_000],
    // What can't be read, and what is over, falls back to the backoff.
    ['soon', 500],
    ['-5', 500],
    ['', 500],
    ['Fri, 20 Nov 2026 00:00:00 GMT', 500],
    ['Thu, 19 Nov 2026 00:00:00 GMT', 500],
  ])('%j: nothing is sent before %i ms are over, and then at once', async (value, ms) => {
    const test = setUp();
    const call = create(test);
    await test.answer(0, tooMany(value));
    await test.clock.advance(ms - 1);
    expect(test.sent).toHaveLength(1);
    await test.clock.advance(1);
    expect(test.sent).toHaveLength(2);
    await test.answer(1, json(LINK, 201));
    await expect(call).resolves.toEqual(LINK);
  });

  it("counts a date from the answer's Date header", async () => {
    const test = setUp();
    const call = create(test);
    const hourAhead = { Date: 'Fri, 20 Nov 2026 01:00:00 GMT' };
    await test.answer(0, tooMany('Fri, 20 Nov 2026 01:00:05 GMT', hourAhead));
    await test.clock.advance(4999);
    expect(test.sent).toHaveLength(1);
    await test.clock.advance(1);
    await test.answer(1, json(LINK, 201));
    await expect(call).resolves.toEqual(LINK);
  });

  it('holds up nothing else where it is that of the usage, which has a limit of its own', async () => {
    const test = setUp();
    const usage = test.usage.retrieve();
    await test.answer(0, tooMany('34'));
    void create(test);
    await settle();
    expect(test.sent).toHaveLength(2);
    expect(test.cooldowns).toEqual([]);
    await test.clock.advance(33_999);
    expect(test.sent).toHaveLength(2);
    await test.clock.advance(1);
    await test.answer(2, json({ plan: 'pro' }));
    await expect(usage).resolves.toMatchObject({ plan: 'pro' });
  });
});

describe('maxRetryAfterMs', () => {
  it.each([
    ['90.001', 90_001],
    ['86400', 86_400_000],
    [String(2 ** 31), 2 ** 31 * 1000],
  ])('%s s is too long: the error is thrown at once with the wait in it', async (value, ms) => {
    const test = setUp();
    const call = create(test);
    call.catch(() => {});
    await test.answer(0, tooMany(value));
    await expect(call).rejects.toBeInstanceOf(RateLimitError);
    await expect(call).rejects.toHaveProperty('retryAfterMs', ms);
    expect(test.clock.delays).toEqual([]);
    expect(test.cooldowns).toEqual([]);
  });

  it('90 s is not', async () => {
    const test = setUp();
    const call = create(test);
    await test.answer(0, tooMany('90'));
    await test.clock.advance(90_000);
    await test.answer(1, json(LINK, 201));
    await expect(call).resolves.toEqual(LINK);
  });

  it('holds for a 503 too', async () => {
    const test = setUp({ maxRetryAfterMs: 1000 });
    const call = create(test);
    call.catch(() => {});
    await test.answer(0, json({ error: 'closed' }, 503, { 'Retry-After': '2' }));
    await expect(call).rejects.toMatchObject({ name: 'ServerError', retryAfterMs: 2000 });
  });

  it('can be longer than a timer', async () => {
    const clock = new InstantClock();
    const answers = [tooMany('2600000'), json(LINK, 201)];
    const fetch = async () => answers.shift() ?? Response.error();
    const { links } = makeClient({ fetch, maxRetryAfterMs: Number.POSITIVE_INFINITY }, { clock });
    await expect(links.create({ target_url: LINK.target_url })).resolves.toEqual(LINK);
    expect(clock.delays).toEqual([2_600_000_000]);
  });
});

describe('the cooldown', () => {
  it('pauses every request of the client, polls too', async () => {
    const test = setUp();
    const refused = create(test);
    await test.answer(0, tooMany('10'));
    const others = [create(test), test.jobs.retrieve(JOB.id), create(test)];
    await test.clock.advance(9999);
    expect(test.sent).toHaveLength(1);
    await test.clock.advance(1);
    expect(test.sent).toHaveLength(5);
    await settle();
    for (const [index, { request }] of test.sent.entries()) {
      if (index > 0) await test.answer(index, json(request.method === 'GET' ? JOB : LINK));
    }
    await expect(Promise.all([refused, ...others])).resolves.toHaveLength(4);
    expect(test.cooldowns).toMatchObject([{ waitMs: 10_000, retryAfterMs: 10_000 }]);
  });

  it('begins though the refused call itself is not repeated', async () => {
    const test = setUp();
    const refused = create(test, 0);
    refused.catch(() => {});
    await test.answer(0, tooMany('10'));
    await expect(refused).rejects.toBeInstanceOf(RateLimitError);
    void create(test);
    await test.clock.advance(9999);
    expect(test.sent).toHaveLength(1);
    await test.clock.advance(1);
    expect(test.sent).toHaveLength(2);
  });

  it('grows with the longest wait of several refusals', async () => {
    const test = setUp();
    void create(test);
    void create(test);
    await test.answer(1, tooMany('20'));
    await test.answer(0, tooMany('10'));
    await test.clock.advance(19_999);
    expect(test.sent).toHaveLength(2);
    await test.clock.advance(1);
    expect(test.sent).toHaveLength(4);
    expect(test.cooldowns).toHaveLength(1);
  });

  it('uses up no attempt of the calls that wait for it', async () => {
    const test = setUp();
    void create(test, 1);
    await test.answer(0, tooMany('1'));
    const waiting = create(test, 1);
    await test.clock.advance(1000);
    await test.answer(test.sent.length - 1, tooMany('1'));
    await test.clock.advance(1000);
    await test.answer(test.sent.length - 1, json(LINK));
    await expect(waiting).resolves.toEqual(LINK);
  });

  it('is not waited for with maxRetries 0: the call fails, and is not sent', async () => {
    const test = setUp();
    const refused = create(test, 0);
    await Promise.all([
      expect(refused).rejects.toBeInstanceOf(RateLimitError),
      test.answer(0, tooMany('10')),
    ]);
    await test.clock.advance(2500);
    await expect(create(test, 0)).rejects.toMatchObject({
      name: 'RateLimitError',
      status: 429,
      retryAfterMs: 7500,
      message: 'Rate limited: try again in 8 s. Nothing was sent, because maxRetries is 0',
    });
    expect(test.sent).toHaveLength(1);
    // To ask during the pause makes it no longer.
    await test.clock.advance(7500);
    void create(test, 0);
    await settle();
    expect(test.sent).toHaveLength(2);
  });
});

describe('requestsPerMinute', () => {
  it('sends one request every 60 s / N, polls included, whatever is asked at once', async () => {
    const test = setUp({ requestsPerMinute: 60 });
    for (let n = 0; n < 3; n += 1) void create(test);
    test.jobs.retrieve(JOB.id).catch(() => {});
    await settle();
    expect(test.sent).toHaveLength(1);
    await test.clock.advance(949);
    expect(test.sent).toHaveLength(1);
    await test.clock.advance(1);
    expect(test.sent).toHaveLength(2);
    await test.clock.advance(2000);
    expect(test.sent.map(({ request }) => request.method)).toEqual(['POST', 'POST', 'POST', 'GET']);
  });

  it('goes on at its pace after a cooldown, without a stampede', async () => {
    const test = setUp({ requestsPerMinute: 60 });
    for (let n = 0; n < 5; n += 1) void create(test);
    await test.answer(0, tooMany('30'));
    await test.clock.advance(29_999);
    expect(test.sent).toHaveLength(1);
    await test.clock.advance(1);
    expect(test.sent).toHaveLength(2);
    await test.clock.advance(1000);
    expect(test.sent).toHaveLength(3);
  });

  it('gives the turn of an aborted call to the next one', async () => {
    const test = setUp({ requestsPerMinute: 60 });
    void create(test);
    const controller = new AbortController();
    const aborted = test.links.create({ target_url: 'x' }, { signal: controller.signal });
    void create(test);
    await settle();
    controller.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await test.clock.advance(1000);
    expect(test.sent).toHaveLength(2);
  });

  it('is waited for even with maxRetries 0, since it is the own pace and no failure', async () => {
    const test = setUp({ requestsPerMinute: 60, maxRetries: 0 });
    void create(test);
    void create(test);
    await test.clock.advance(949);
    expect(test.sent).toHaveLength(1);
    await test.clock.advance(1);
    expect(test.sent).toHaveLength(2);
  });

  it('does not hold anything back at Infinity', async () => {
    const test = setUp({ requestsPerMinute: Number.POSITIVE_INFINITY });
    for (let n = 0; n < 50; n += 1) void create(test);
    await settle();
    expect(test.sent).toHaveLength(50);
  });
});

describe('the quota that the service states', () => {
  const stating = (remaining: number, resetSeconds: number, today = 5_000) =>
    json(LINK, 201, {
      RateLimit: `"minute";r=${remaining};t=${resetSeconds}, "day";r=${today};t=80000`,
      'RateLimit-Policy': '"minute";q=60;w=60, "day";q=100;w=86400',
    });

  it('is waited for by the polls of a job, which fail at no limit, also with maxRetries 0', async () => {
    const ends: unknown[] = [];
    const hooks = { onEnd: ({ error }: { error: unknown }) => ends.push(error) };
    const test = setUp({ maxRetries: 0, hooks });
    void create(test);
    await test.answer(0, stating(0, 5));
    const waiting = test.jobs.wait('j');
    await test.clock.advance(5_000);
    await test.answer(1, json(JOB));
    await waiting;
    expect(ends).toEqual([undefined, undefined]);
  });

  it('holds requests back until the next window, without a 429', async () => {
    const test = setUp();
    void create(test);
    await test.answer(0, stating(1, 34));
    for (let n = 0; n < 3; n += 1) void create(test);
    await settle();
    expect(test.sent).toHaveLength(2);
    await test.answer(1, stating(0, 34));
    await test.clock.advance(33_999);
    expect(test.sent).toHaveLength(2);
    expect(test.cooldowns).toMatchObject([{ waitMs: 34_000, retryAfterMs: undefined }]);
    await test.clock.advance(1);
    expect(test.sent).toHaveLength(4);
  });

  it('makes no request wait for the response of another', async () => {
    const test = setUp();
    void create(test);
    await test.answer(0, stating(0, 10));
    for (let n = 0; n < 20; n += 1) void create(test);
    await test.clock.advance(10_000);
    // The next window has room for 60. Nothing was answered since.
    expect(test.sent).toHaveLength(21);
    for (let n = 0; n < 100; n += 1) void create(test);
    await settle();
    expect(test.sent).toHaveLength(61);
    await test.clock.advance(60_000);
    // No response confirmed that window, so nothing is assumed of the one after it.
    expect(test.sent).toHaveLength(121);
  });

  it('is forgotten when the header never returns', async () => {
    const test = setUp();
    void create(test);
    await test.answer(0, stating(0, 10));
    await test.clock.advance(10_000);
    for (let index = 1; index <= 5; index += 1) {
      void create(test);
      await test.answer(index, json(LINK, 201));
    }
    await test.clock.advance(60_000);
    for (let n = 0; n < 100; n += 1) void create(test);
    await settle();
    expect(test.sent).toHaveLength(106);
  });

  it('is shown to the hooks', async () => {
    const quotas: unknown[] = [];
    const test = setUp({ hooks: { onResponse: ({ quota }) => quotas.push(...quota) } });
    void create(test);
    await test.answer(0, stating(1, 34));
    expect(quotas).toEqual([
      { name: 'minute', remaining: 1, resetMs: 34_000, quota: 60, windowMs: 60_000 },
      { name: 'day', remaining: 5_000, resetMs: 80_000_000, quota: 100, windowMs: 86_400_000 },
    ]);
  });

  it.each([0, 5])(
    'fails a call at once where its window ends later than the caller waits, with maxRetries %i',
    async (maxRetries) => {
      const test = setUp();
      void create(test);
      await test.answer(0, stating(50, 34, 0));
      await expect(create(test, maxRetries)).rejects.toMatchObject({
        name: 'RateLimitError',
        retryAfterMs: 80_000_000,
        message:
          'Rate limited: try again in 80000 s. Nothing was sent, because maxRetryAfterMs is 90000',
      });
      expect(test.sent).toHaveLength(1);
      expect(test.clock.delays).toEqual([]);
      expect(test.cooldowns).toEqual([]);
    },
  );

  it('is asked for again after maxRetryAfterMs, because the plan may have changed', async () => {
    const test = setUp();
    void create(test);
    await test.answer(0, stating(50, 34, 0));
    await test.clock.advance(89_999);
    await expect(create(test)).rejects.toBeInstanceOf(RateLimitError);
    await test.clock.advance(1);
    const call = create(test);
    await test.answer(1, stating(50, 34, 9_000));
    await expect(call).resolves.toEqual(LINK);
    void create(test);
    await settle();
    expect(test.sent).toHaveLength(3);
  });

  it('does not keep the usage from being asked for, which counts against no quota', async () => {
    const test = setUp();
    void create(test);
    await test.answer(0, stating(0, 34, 0));
    const usage = test.usage.retrieve({ maxRetries: 0 });
    await test.answer(1, json({ plan: 'pro' }));
    await expect(usage).resolves.toMatchObject({ plan: 'pro' });
  });

  it('is not used up by reading the usage while other calls are under way', async () => {
    const test = setUp();
    void create(test);
    await test.answer(0, stating(10, 34));
    void create(test);
    for (let n = 2; n < 9; n += 1) {
      const usage = test.usage.retrieve();
      await test.answer(n, stating(9, 34));
      await usage;
    }
    for (let n = 0; n < 20; n += 1) void create(test);
    await settle();
    expect(test.sent).toHaveLength(9 + 9);
  });

  it('pauses nothing else where it fails a call that was not sent', async () => {
    const test = setUp();
    void create(test);
    await test.answer(0, stating(0, 34));
    await expect(create(test, 0)).rejects.toBeInstanceOf(RateLimitError);
    const usage = test.usage.retrieve({ maxRetries: 0 });
    await test.answer(1, json({ plan: 'pro' }));
    await expect(usage).resolves.toMatchObject({ plan: 'pro' });
  });

  it('is not waited for with maxRetries 0: the call fails, and is not sent', async () => {
    const test = setUp();
    void create(test, 0);
    await test.answer(0, stating(0, 34));
    await expect(create(test, 0)).rejects.toMatchObject({
      name: 'RateLimitError',
      retryAfterMs: 34_000,
    });
    expect(test.sent).toHaveLength(1);
    await test.clock.advance(34_000);
    void create(test, 0);
    await settle();
    expect(test.sent).toHaveLength(2);
  });
});

it.each([
  'Over the limit by 1 request per minute (60 allowed)',
  'Only 2 requests per minute',
  'limit: 1 rpm',
])('no limit is read from prose: %s', async (error) => {
  const test = setUp();
  void create(test);
  await test.answer(0, json({ error }, 429, { 'Retry-After': '10' }));
  for (let n = 0; n < 50; n += 1) void create(test);
  await test.clock.advance(10_000);
  expect(test.sent).toHaveLength(52);
});

it.each(['aborted', 'lost'])('a request that was %s blocks no other', async (end) => {
  const test = setUp({
    fetch: async (url, init) => {
      urls.push(url);
      if (urls.length > 1) return json(LINK, 201);
      if (end === 'lost') return new Promise(() => {});
      return new Promise((_, reject) => {
        init.signal.addEventListener('abort', () => reject(init.signal.reason));
      });
    },
  });
  const urls: string[] = [];
  const controller = new AbortController();
  const first = test.links.create({ target_url: 'x' }, { signal: controller.signal });
  first.catch(() => {});
  await settle();
  if (end === 'aborted') controller.abort();
  await expect(Promise.all([create(test), create(test)])).resolves.toHaveLength(2);
});
