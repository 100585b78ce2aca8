import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { isOutcomeUnknown, TimeoutError } from '../src/errors/call-errors.ts';
import type { ShortlinkOptions } from '../src/options.ts';
import { JOB, json, LINK } from './answers.ts';
import { FakeClock, InstantClock, settle } from './fake-clock.ts';
import { FakeFetch } from './fake-fetch.ts';
import { makeClient } from './make-client.ts';

const BODY = { target_url: LINK.target_url };
const reason = new Error('enough');

function setUp(options: ShortlinkOptions = {}) {
  const clock = new FakeClock();
  const network = new FakeFetch();
  const { links } = makeClient({ fetch: network.fetch, ...options }, { clock });
  const controller = new AbortController();
  const start = () => {
    const call = links.create(BODY, { signal: controller.signal });
    call.catch(() => {});
    return call;
  };
  /** Aborts, and shows that the call ends without the time moving on, leaving nothing behind. */
  const expectEnd = async (call: Promise<unknown>) => {
    await settle();
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  };
  return { clock, network, links, controller, start, expectEnd };
}

describe('an abort rejects at once with the reason', () => {
  it('before anything is sent', async () => {
    const { network, links } = setUp();
    const call = links.create(BODY, { signal: AbortSignal.abort(reason) });
    await expect(call).rejects.toBe(reason);
    expect(network.sent).toHaveLength(0);
  });

  it('before anything is looked up, and leaves no rejection that nobody handles', async () => {
    const unhandled = vi.fn();
    process.once('unhandledRejection', unhandled);
    const { links } = setUp();
    const call = links.lookup([LINK.target_url], { signal: AbortSignal.abort(reason) });
    await expect(call).rejects.toBe(reason);
    // Node reports a rejection once all microtasks are done.
    await new Promise(setImmediate);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('with a reason that is no error', async () => {
    const { links } = setUp();
    await expect(links.create(BODY, { signal: AbortSignal.abort('gone') })).rejects.toBe('gone');
  });

  it('while waiting for the answer', async () => {
    const { start, expectEnd, network } = setUp();
    const call = start();
    await settle();
    expect(network.sent).toHaveLength(1);
    await expectEnd(call);
  });

  it('while waiting for the answer of a fetch that does not listen', async () => {
    const { start, expectEnd } = setUp({ fetch: () => new Promise(() => {}) });
    await expectEnd(start());
  });

  it('while reading the body', async () => {
    const endless = new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
    const { start, expectEnd } = setUp({ fetch: async () => endless });
    await expectEnd(start());
  });

  it('during a backoff', async () => {
    const { start, expectEnd, clock } = setUp({
      fetch: async () => json({ error: 'no' }, 503, { 'Retry-After': '60' }),
    });
    const call = start();
    await settle();
    expect(clock.sleeping).toBe(1);
    await expectEnd(call);
    expect(clock.sleeping).toBe(0);
  });

  it("during another call's cooldown", async () => {
    const { start, expectEnd, links, network, clock } = setUp();
    links.create(BODY, { maxRetries: 0 }).catch(() => {});
    await network.answer(0, json({ error: 'no' }, 429, { 'Retry-After': '60' }));
    const call = start();
    await settle();
    expect(clock.sleeping).toBe(1);
    await expectEnd(call);
  });

  it('while waiting for its turn', async () => {
    const { start, expectEnd, links, clock } = setUp({ requestsPerMinute: 1 });
    links.create(BODY).catch(() => {});
    const call = start();
    await settle();
    expect(clock.sleeping).toBe(1);
    await expectEnd(call);
  });

  it('while a look-up waits for its source', async () => {
    const { links, controller, expectEnd } = setUp();
    async function* hanging() {
      yield 'https://a.io/';
      await new Promise(() => {});
    }
    const call = links.lookup(hanging(), { signal: controller.signal });
    call.catch(() => {});
    await expectEnd(call);
  });

  it('with a total timeout that is still far', async () => {
    const { links, controller, expectEnd } = setUp({ totalTimeoutMs: 60_000 });
    const call = links.create(BODY, { signal: controller.signal });
    call.catch(() => {});
    await expectEnd(call);
  });

  it("leaves the reason's own stack alone, though it is an error of this package", async () => {
    const own = new TimeoutError('mine', { outcome: 'not-sent', timeoutMs: 1 });
    const { stack } = own;
    const { links } = setUp();
    await expect(links.create(BODY, { signal: AbortSignal.abort(own) })).rejects.toBe(own);
    expect(own.stack).toBe(stack);
  });
});

async function drain(items: AsyncIterable<unknown>) {
  for await (const _ of items);
}

describe('isOutcomeUnknown of the reason of an abort', () => {
  const endsAs = async (act: (signal: AbortSignal) => Promise<unknown>, isLate = true) => {
    const controller = new AbortController();
    const call = act(controller.signal).catch((error: unknown) => error);
    if (isLate) await settle();
    controller.abort();
    return isOutcomeUnknown(await call);
  };
  const hanging = () =>
    makeClient({ fetch: () => new Promise(() => {}) }, { clock: new FakeClock() });
  const links = [BODY];

  it('is true where a POST was in flight', async () => {
    const client = hanging();
    expect(await endsAs((signal) => client.links.create(BODY, { signal }))).toBe(true);
    expect(await endsAs((signal) => client.links.createBatch({ links }, { signal }))).toBe(true);
    expect(await endsAs((signal) => drain(client.links.createMany(links, { signal })))).toBe(true);
  });

  it('stays true when later calls are aborted with other reasons', async () => {
    const client = hanging();
    const reasons = [new Error('first'), new Error('second')];
    for (const each of reasons) {
      const controller = new AbortController();
      const call = client.links.create(BODY, { signal: controller.signal });
      call.catch(() => {});
      await settle();
      controller.abort(each);
      await expect(call).rejects.toBe(each);
    }
    expect(reasons.map(isOutcomeUnknown)).toEqual([true, true]);
  });

  it('is true where a job was waited for', async () => {
    const { jobs } = hanging();
    expect(await endsAs((signal) => jobs.wait('job-1', { signal }))).toBe(true);
    expect(await endsAs((signal) => jobs.wait('job-1', { signal }), false)).toBe(true);
  });

  it('is false where nothing was sent, where a limit refused it, and for what creates nothing', async () => {
    const { links, jobs, usage } = hanging();
    const create = (signal: AbortSignal) => links.create(BODY, { signal });
    expect(await endsAs(create, false)).toBe(false);
    expect(await endsAs((signal) => usage.retrieve({ signal }))).toBe(false);
    expect(await endsAs((signal) => jobs.retrieve('job-1', { signal }))).toBe(false);
    expect(await endsAs((signal) => links.lookup(['https://a.io/'], { signal }))).toBe(false);
    const refused = async () => json({ error: 'slow' }, 429, { 'Retry-After': '60' });
    const limited = makeClient({ fetch: refused }, { clock: new FakeClock() });
    expect(await endsAs((signal) => limited.links.create(BODY, { signal }))).toBe(false);
  });

  it('is known to another copy of the package', async () => {
    const { links } = hanging();
    const controller = new AbortController();
    const call = links.create(BODY, { signal: controller.signal }).catch((error: unknown) => error);
    await settle();
    controller.abort();
    vi.resetModules();
    const copy = await import('../src/index.ts');
    expect(copy.isOutcomeUnknown(await call)).toBe(true);
    expect(copy.isOutcomeUnknown(new Error('another reason'))).toBe(false);
  });

  it('is true for a reason that is no object, because nothing is known of it', () => {
    expect(['gone', null].map(isOutcomeUnknown)).toEqual([true, true]);
  });
});

it('isOutcomeUnknown is false for every error of a request that creates nothing', async () => {
  for (const fetch of [
    () => Promise.reject(new TypeError('Failed to fetch')),
    async () => json({ error: 'no' }, 500),
    async () => json('no object'),
  ]) {
    const { jobs, usage, links } = makeClient({ fetch, maxRetries: 0 });
    for (const call of [
      jobs.retrieve('job-1'),
      usage.retrieve(),
      links.lookup(['https://a.io/']),
    ]) {
      expect(isOutcomeUnknown(await call.catch((error: unknown) => error))).toBe(false);
    }
    const error: unknown = await jobs.wait('job-1', { timeoutMs: 1_000 }).catch((error) => error);
    expect(error).toMatchObject({ jobId: 'job-1' });
    expect(isOutcomeUnknown(error)).toBe(true);
  }
});

it("isOutcomeUnknown is true for a 409 with the caller's own idempotency key only", async () => {
  const { links } = makeClient({ fetch: async () => json({ error: 'is running' }, 409) });
  const ends = [{ idempotency: 'order-1' }, { idempotency: true }, {}].map((options) =>
    links.create(BODY, options).catch((error: unknown) => isOutcomeUnknown(error)),
  );
  expect(await Promise.all(ends)).toEqual([true, false, false]);
});

describe('totalTimeoutMs', () => {
  it('ends a backoff, and knows that nothing was done', async () => {
    const { links } = setUp({
      fetch: async () => json({ error: 'no' }, 429, { 'Retry-After': '60' }),
      totalTimeoutMs: 30,
    });
    await expect(links.create(BODY)).rejects.toMatchObject({
      name: 'TimeoutError',
      outcome: 'not-sent',
      timeoutMs: 30,
      cause: { name: 'RateLimitError' },
    });
  });

  it('ends a backoff after a lost attempt, and knows that it may have been done', async () => {
    const { links } = setUp({
      fetch: () => Promise.reject(new TypeError('Failed to fetch')),
      idempotency: true,
      totalTimeoutMs: 30,
    });
    const call = links.create(BODY);
    await expect(call).rejects.toMatchObject({ name: 'TimeoutError', outcome: 'unknown' });
  });
});

describe("the client's totalTimeoutMs", () => {
  const slow = () => {
    let requests = 0;
    const clock = new FakeClock();
    const fetch = async (url: string) => {
      requests += 1;
      if (requests === 1) return json({ error: 'slow' }, 429, { 'Retry-After': '3' });
      return json(url.endsWith('/batch') ? { results: JOB.results } : JOB);
    };
    return { clock, ...makeClient({ fetch, totalTimeoutMs: 30 }, { clock }) };
  };

  it('does not end createMany', async () => {
    const { links, clock } = slow();
    const next = links.createMany([BODY]).next();
    next.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 60));
    await clock.advance(4_000);
    await expect(next).resolves.toMatchObject({ value: { outcome: 'created' } });
  });

  it('does not end the wait for a job', async () => {
    const { jobs, clock } = slow();
    const wait = jobs.wait(JOB.id, { timeoutMs: 0 });
    wait.catch(() => {});
    await clock.advance(1_000);
    await new Promise((resolve) => setTimeout(resolve, 60));
    for (let n = 0; n < 10; n += 1) await clock.advance(1_000);
    await expect(wait).resolves.toMatchObject({ status: 'completed' });
  });
});

it('200 calls on one signal leave no listener, whether they succeed, are repeated or fail', async () => {
  const { signal } = new AbortController();
  let calls = 0;
  const fetch = async () => {
    calls += 1;
    if (calls % 3 === 0) return json({ error: 'no' }, 503, { 'Retry-After': '1' });
    return calls % 5 === 0 ? json({ error: 'no' }, 400) : json(LINK, 201);
  };
  const { links } = makeClient({ fetch }, { clock: new InstantClock() });
  for (let n = 0; n < 200; n += 1) {
    const totalTimeoutMs = n % 2 === 0 ? 0 : 60_000;
    await links.create(BODY, { signal, totalTimeoutMs }).catch(() => {});
  }
  expect(calls).toBeGreaterThan(200);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
