import { describe, expect, it } from 'vitest';
import { ConnectionError } from '../errors/connection-error.ts';
import { InvalidOptionError } from '../errors/invalid-option-error.ts';
import { JobFailedError } from '../errors/job-failed-error.ts';
import { JobTimeoutError } from '../errors/job-timeout-error.ts';
import type { BatchLinkInput } from '../wire/batch.ts';
import { createMany } from './create-many.ts';
import {
  apiError,
  badRequest,
  codeOf,
  deferred,
  FakeService,
  links,
  planLimit,
} from './fake-service.ts';
import type { BatchEvent, BulkItem, CreateManyOptions } from './types.ts';

/** Everything a run yields, and what it throws at the end. */
async function run(
  service: FakeService,
  source: Iterable<BatchLinkInput> | AsyncIterable<BatchLinkInput>,
  options: CreateManyOptions = {},
) {
  const items: BulkItem[] = [];
  const events: BatchEvent[] = [];
  let error: unknown;
  const onBatch = options.onBatch ?? ((event: BatchEvent) => void events.push(event));
  try {
    for await (const item of createMany(service, source, { ...options, onBatch })) items.push(item);
  } catch (thrown) {
    error = thrown;
  }
  return { items, events, error };
}

/** One letter per item: c(reated), f(ailed) or u(nknown). */
function outcomes(items: readonly BulkItem[]): string {
  return items.map((item) => item.outcome[0]).join('');
}

function lives(events: readonly BatchEvent[]): string[] {
  return events.map((event) => `${event.first}+${event.count} ${event.type}`);
}

const lost = () => new ConnectionError('connection lost', { outcome: 'unknown' });

describe('createMany', () => {
  it('yields each link with its own code, in order, with nothing sent for an empty source', async () => {
    const service = new FakeService();
    const { items, error } = await run(service, links(5), { batchSize: 2 });
    expect(error).toBeUndefined();
    expect(items.map((item) => item.index)).toEqual([0, 1, 2, 3, 4]);
    for (const item of items) {
      expect(item).toMatchObject({ outcome: 'created', code: codeOf(item.input.target_url) });
    }
    expect(service.asked).toEqual([2, 2, 1]);
    expect((await run(service, [])).items).toEqual([]);
    expect(service.asked).toHaveLength(3);
  });

  it('takes arrays, generators, async generators and streams', async () => {
    const sources = {
      array: () => links(3),
      generator: () => links(3).values(),
      async: async function* () {
        yield* links(3);
      },
      stream: () =>
        new ReadableStream<BatchLinkInput>({
          start(controller) {
            for (const link of links(3)) controller.enqueue(link);
            controller.close();
          },
        }),
    };
    for (const [name, source] of Object.entries(sources)) {
      const { items } = await run(new FakeService(), source());
      expect(items, name).toHaveLength(3);
    }
  });

  it('reports the life of a batch that is answered at once', async () => {
    const { events } = await run(new FakeService(), links(2));
    expect(lives(events)).toEqual(['0+2 planned', '0+2 sent', '0+2 completed']);
    expect(events[2]).toMatchObject({ results: [{ code: 'httpsexamplecom0' }, {}] });
  });

  it('waits for the job of a larger batch, and tells how many links it has', async () => {
    const service = new FakeService();
    const progress: unknown[] = [];
    service.onJob = (jobId, options) => options.onProgress?.(service.job(jobId));
    const { events, items } = await run(service, links(101), {
      jobTimeoutMs: 5,
      onJobProgress: (batch, job) => progress.push([batch, job.id]),
    });
    expect(outcomes(items)).toBe('c'.repeat(101));
    expect(lives(events)).toEqual(
      ['planned', 'sent', 'accepted', 'completed'].map((t) => `0+101 ${t}`),
    );
    expect(events[2]).toMatchObject({ job_id: 'job-0' });
    expect(events[3]).toMatchObject({ job_id: 'job-0' });
    expect(service.waits[0]).toMatchObject({ total: 101, timeoutMs: 5 });
    expect(progress).toEqual([[{ first: 0, count: 101 }, 'job-0']]);
  });

  it('passes the domain, request options and idempotency keys on', async () => {
    const service = new FakeService();
    const bodies: unknown[] = [];
    const { createBatch, waitForJob } = service;
    const deps = {
      waitForJob,
      createBatch: (...args: Parameters<typeof createBatch>) => {
        bodies.push(args[0].domain_id);
        return createBatch(...args);
      },
    };
    const options = {
      domain_id: 'd1',
      batchSize: 2,
      timeoutMs: 7,
      maxRetries: 1,
      headers: { a: 'b' },
    };
    const idempotencyKey = ({ first, count }: { first: number; count: number }) =>
      `${first}-${count}`;
    for await (const _ of createMany(deps, links(3), { ...options, idempotencyKey }));
    expect(bodies).toEqual(['d1', 'd1']);
    expect(service.requestOptions[1]).toMatchObject({
      timeoutMs: 7,
      maxRetries: 1,
      headers: { a: 'b' },
      idempotency: '2-1',
    });
  });

  it('refuses bad options before anything is read', () => {
    const service = new FakeService();
    const bad: CreateManyOptions[] = [
      { concurrency: 0 },
      { concurrency: 1.5 },
      { batchSize: 0 },
      { batchSize: 10_001 },
      { jobTimeoutMs: -1 },
      { resume: [{ first: -1, count: 1, state: 'planned' }] },
      { resume: [{ first: 0, count: 0, state: 'planned' }] },
      {
        resume: [
          { first: 5, count: 5, state: 'planned' },
          { first: 0, count: 6, state: 'planned' },
        ],
      },
    ];
    for (const options of bad) {
      expect(() => createMany(service, links(1), options)).toThrow(InvalidOptionError);
    }
    const notIterable: unknown = 5;
    expect(() => createMany(service, notIterable as BatchLinkInput[])).toThrow(/source/);
  });
});

describe('createMany: finding the batch size', () => {
  const limitTo = (size: number, body: object) => (_: number, sent: readonly BatchLinkInput[]) => {
    if (sent.length > size) throw planLimit(body);
  };

  it('goes from 10,000 to 5,000 to 100 and loses nothing', async () => {
    const service = new FakeService();
    service.onBatch = limitTo(100, { limit: 'batch_size' });
    const { items, error } = await run(service, links(10_250));
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe('c'.repeat(10_250));
    expect(service.asked.slice(0, 4)).toEqual([10_000, 5_000, 100, 100]);
    expect(service.asked).toHaveLength(2 + 103);
    expect([...service.created.values()].every((times) => times === 1)).toBe(true);
  });

  it('goes to the allowed size at once where the service names it', async () => {
    const service = new FakeService();
    service.onBatch = limitTo(700, { limit: 'batch_size', allowed: 700 });
    const { events } = await run(service, links(1_500));
    expect(service.asked).toEqual([1_500, 700, 700, 100]);
    expect(lives(events).slice(0, 4)).toEqual([
      '0+1500 planned',
      '0+1500 sent',
      '0+1500 resized',
      '0+700 planned',
    ]);
  });

  it.each([{ allowed: 0 }, { allowed: 1.5 }, { allowed: 20_000 }, {}])(
    'falls back to the known sizes for allowed = $allowed',
    async (body) => {
      const service = new FakeService();
      service.onBatch = limitTo(5_000, { limit: 'batch_size', ...body });
      await run(service, links(6_000));
      expect(service.asked).toEqual([6_000, 5_000, 1_000]);
    },
  );

  it('shrinks on a 403 that does not name its limit, until a size is taken', async () => {
    const service = new FakeService();
    service.onBatch = limitTo(5_000, { allowed: 15 });
    await run(service, links(6_000));
    expect(service.asked).toEqual([6_000, 5_000, 1_000]);
  });

  it('stops after the smallest size for a 403 that does not name its limit', async () => {
    const service = new FakeService();
    service.onBatch = limitTo(0, {});
    const { items, error, events } = await run(service, links(20_000));
    expect(service.asked).toEqual([10_000, 5_000, 100]);
    expect(error).toMatchObject({ name: 'PlanLimitError' });
    expect(items).toEqual([]);
    expect(events.at(-1)?.type).toBe('unsent');
  });

  it('does not shrink for the total of links', async () => {
    const service = new FakeService();
    service.onBatch = limitTo(0, { limit: 'links', allowed: 15 });
    const { error } = await run(service, links(20_000));
    expect(service.asked).toEqual([10_000]);
    expect(error).toMatchObject({ limit: 'links' });
  });

  it('does not shrink a size that was taken before', async () => {
    const service = new FakeService();
    service.onBatch = (n) => {
      if (n === 1) throw planLimit();
    };
    const { items, error } = await run(service, links(600), { batchSize: 200, concurrency: 1 });
    expect(service.asked).toEqual([200, 200]);
    expect(outcomes(items)).toBe('c'.repeat(200));
    expect(error).toMatchObject({ name: 'PlanLimitError' });
  });

  it('halves a batch whose body is too large', async () => {
    const service = new FakeService();
    service.onBatch = (_, sent) => {
      if (sent.length > 30) throw apiError(413, { error: 'too large' });
    };
    const { items } = await run(service, links(100));
    expect(outcomes(items)).toBe('c'.repeat(100));
    expect(service.asked.slice(0, 3)).toEqual([100, 50, 25]);
  });

  it('fails a single link whose body is too large, and goes on', async () => {
    const service = new FakeService();
    service.onBatch = (n) => {
      if (n === 0) throw apiError(413, { error: 'too large' });
    };
    const { items } = await run(service, links(2), { batchSize: 1 });
    expect(outcomes(items)).toBe('fc');
  });

  it('sends the first batch alone until its size is taken, and the others while its job runs', async () => {
    const service = new FakeService();
    const first = deferred();
    const job = deferred();
    service.onBatch = (n) => (n === 0 ? first.promise : undefined);
    service.onJob = (id) => (id === 'job-0' ? job.promise : undefined);
    const done = run(service, links(800), { batchSize: 200, concurrency: 4 });
    await settle();
    expect(service.asked).toHaveLength(1);
    first.resolve();
    await settle();
    expect(service.asked).toHaveLength(4);
    job.resolve();
    expect(outcomes((await done).items)).toBe('c'.repeat(800));
  });
});

/** Lets everything that can happen without time passing happen. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

describe('createMany: batches that fail', () => {
  it('fails a refused batch whole, names the bad entry, and goes on', async () => {
    const service = new FakeService();
    const details = [
      { index: 1, field: 'target_url', message: 'not a URL' },
      { index: 1, field: 'title', message: 'too long' },
    ];
    service.onBatch = (n) => {
      if (n === 0) throw badRequest(details);
    };
    const { items, events, error } = await run(service, links(4), { batchSize: 2 });
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe('ffcc');
    expect(items[0]).toMatchObject({ error: expect.stringMatching(/another entry.*links\[1\]/) });
    expect(items[1]).toMatchObject({ error: 'target_url: not a URL; title: too long' });
    expect(items[1]).toMatchObject({ cause: { name: 'BadRequestError' } });
    expect(lives(events)).toContain('0+2 failed');
  });

  it('gives every link of a refused batch the reason where the service gives no details', async () => {
    const service = new FakeService();
    service.onBatch = () => {
      throw badRequest();
    };
    const { items } = await run(service, links(2));
    expect(items.map((item) => item.outcome === 'failed' && item.error)).toEqual([
      'links[1]: bad',
      'links[1]: bad',
    ]);
  });

  it.each([
    ['a lost connection', lost()],
    ['a 500', apiError(500, { error: 'oops' })],
    ['a 409', apiError(409, { error: 'in progress' })],
    [
      'an idempotency conflict',
      apiError(422, { error: 'other body', code: 'idempotency_conflict' }),
    ],
  ])('reports a batch as unknown after %s, sends it once, and goes on', async (_, error) => {
    const service = new FakeService();
    service.afterBatch = (n) => {
      if (n === 0) throw error;
    };
    const result = await run(service, links(4), { batchSize: 2 });
    expect(result.error).toBeUndefined();
    expect(outcomes(result.items)).toBe('uucc');
    expect(result.items[0]).toMatchObject({ error: error.message, cause: error });
    expect(service.asked).toEqual([2, 2]);
    expect(lives(result.events)).toContain('0+2 unknown');
  });

  it.each([
    ['401', apiError(401, { error: 'key' })],
    ['403', apiError(403, { error: 'permission' })],
    ['404', apiError(404, { error: 'wrong address' })],
    ['429', apiError(429, { error: 'quota' })],
    ['plan limit', planLimit({ limit: 'links' })],
    ['no connection', new ConnectionError('refused', { outcome: 'not-sent' })],
  ])('finishes what is in flight, then throws, on %s', async (_, error) => {
    const service = new FakeService();
    const slow = deferred();
    service.onBatch = (n) => {
      if (n === 1) return slow.promise;
      if (n === 2) throw error;
      return undefined;
    };
    const done = run(service, links(100), { batchSize: 2, concurrency: 3 });
    await settle();
    slow.resolve();
    const { items, error: thrown, events } = await done;
    expect(thrown).toBe(error);
    const indexes = items.map((item) => item.index);
    expect(indexes.slice(0, 4)).toEqual([0, 1, 2, 3]);
    expect(indexes).not.toContain(4);
    expect(outcomes(items)).toMatch(/^c+$/);
    expect(lives(events)).toContain('4+2 unsent');
    expect(service.created.size).toBe(items.length);
    expect(service.asked.length).toBeLessThanOrEqual(4);
  });

  it('throws the first of several errors', async () => {
    const service = new FakeService();
    const first = planLimit({ limit: 'links' });
    service.onBatch = async (n) => {
      if (n === 1) throw first;
      if (n === 2) {
        await settle();
        throw apiError(401, { error: 'key' });
      }
    };
    const { error } = await run(service, links(6), { batchSize: 2, concurrency: 3 });
    expect(service.asked).toHaveLength(3);
    expect(error).toBe(first);
  });

  it('yields what is settled beyond a batch that was not sent', async () => {
    const service = new FakeService();
    const held = deferred();
    service.onBatch = async (n) => {
      if (n !== 1) return;
      await held.promise;
      throw planLimit({ limit: 'links' });
    };
    const done = run(service, links(6), { batchSize: 2, concurrency: 3 });
    await settle();
    held.resolve();
    expect((await done).items.map((item) => item.index)).toEqual([0, 1, 4, 5]);
  });

  it('surfaces the error of a single item, and a result without a code', async () => {
    const service = new FakeService();
    const deps = {
      ...service,
      createBatch: async () => ({
        status: 'completed' as const,
        total: 3,
        results: [
          { target_url: 'https://example.com/0', error: 'blocked host' },
          { target_url: 'https://example.com/1', code: 'x', short_url: 's/x', error: '' },
        ],
      }),
    };
    const items: BulkItem[] = [];
    for await (const item of createMany(deps, links(3))) items.push(item);
    expect(outcomes(items)).toBe('fcu');
    expect(items[0]).toMatchObject({ error: 'blocked host' });
    expect(items[2]).toMatchObject({ error: expect.stringContaining('no result') });
  });
});

describe('createMany: jobs that fail', () => {
  const failing = (error: Error) => {
    const service = new FakeService();
    service.syncLinks = 0;
    service.onJob = (jobId) => {
      if (jobId === 'job-0') throw error;
    };
    return service;
  };

  it.each([
    ['a deadline', new JobTimeoutError('not done', { jobId: 'job-0', timeoutMs: 1 })],
    ['a lost connection', lost()],
    ['an unknown job', apiError(404, { error: 'no such job' })],
  ])('leaves the batch unknown with its job after %s, and goes on', async (_, error) => {
    const { items, events, error: thrown } = await run(failing(error), links(4), { batchSize: 2 });
    expect(thrown).toBeUndefined();
    expect(outcomes(items)).toBe('uucc');
    expect(events).toContainEqual({ first: 0, count: 2, type: 'unknown', error, job_id: 'job-0' });
  });

  it('keeps what a failed job had done', async () => {
    const job = {
      id: 'job-0',
      status: 'failed',
      total: 2,
      processed: 1,
      results: [{ target_url: 'https://example.com/0', code: 'c', short_url: 's/c' }],
    };
    const error = new JobFailedError('failed', { jobId: 'job-0', job });
    const { items } = await run(failing(error), links(2));
    expect(outcomes(items)).toBe('cu');
    expect(items[1]).toMatchObject({ cause: error });
  });

  it('ends the run when polling is refused, with the batch unknown', async () => {
    const error = apiError(429, { error: 'quota' });
    const result = await run(failing(error), links(4), { batchSize: 2, concurrency: 1 });
    expect(result.error).toBe(error);
    expect(outcomes(result.items)).toBe('uu');
  });
});

describe('createMany: ending early', () => {
  it('ends softly: finishes what is in flight and sends nothing new', async () => {
    const service = new FakeService();
    const stop = new AbortController();
    const slow = deferred();
    service.onBatch = (n) => (n === 1 ? slow.promise : undefined);
    const done = run(service, links(10), { batchSize: 2, concurrency: 2, stopSignal: stop.signal });
    await settle();
    const sent = service.asked.length;
    stop.abort();
    slow.resolve();
    const { items, error } = await done;
    expect(error).toBeUndefined();
    expect(service.asked).toHaveLength(sent);
    expect(items.map((item) => item.index)).toEqual(links(2 * sent).map((_, i) => i));
  });

  it('ends softly while a source hangs', async () => {
    const stop = new AbortController();
    async function* hanging() {
      yield* links(2);
      await new Promise(() => undefined);
    }
    const done = run(new FakeService(), hanging(), { batchSize: 2, stopSignal: stop.signal });
    await settle();
    stop.abort();
    expect(outcomes((await done).items)).toBe('cc');
  });

  it('aborts what is in flight, yields it as unknown, and throws the reason', async () => {
    const service = new FakeService();
    const abort = new AbortController();
    service.onBatch = (n) => (n === 0 ? undefined : new Promise(() => undefined));
    const done = run(service, links(10), { batchSize: 2, concurrency: 3, signal: abort.signal });
    await settle();
    // A reason that is an error of ours must not be taken for an answer of the service.
    const reason = planLimit({ limit: 'batch_size' });
    abort.abort(reason);
    const { items, error, events } = await done;
    expect(error).toBe(reason);
    expect(outcomes(items).startsWith('ccuu')).toBe(true);
    expect(items[2]).toMatchObject({ cause: { outcome: 'unknown', cause: reason } });
    expect(lives(events)).toContain('2+2 unknown');
  });

  it('sends nothing when it was aborted before', async () => {
    const service = new FakeService();
    const reason = new Error('no');
    const result = await run(service, links(1), { signal: AbortSignal.abort(reason) });
    expect(result.error).toBe(reason);
    expect(service.asked).toEqual([]);
    expect(
      (await run(service, links(1), { stopSignal: AbortSignal.abort() })).error,
    ).toBeUndefined();
    expect(service.asked).toEqual([]);
  });

  it('sends nothing that was planned but not sent when the abort came', async () => {
    const service = new FakeService();
    const abort = new AbortController();
    const types: string[] = [];
    const { items } = await run(service, links(1), {
      signal: abort.signal,
      onBatch: (event) => {
        types.push(event.type);
        abort.abort(new Error('stop'));
      },
    });
    expect(items).toEqual([]);
    expect(service.asked).toEqual([]);
    expect(types).toEqual(['planned', 'sent', 'unsent']);
  });

  it('leaves no listener on the signals', async () => {
    for (const name of ['signal', 'stopSignal'] as const) {
      const counted = countListeners();
      await run(new FakeService(), links(5), { batchSize: 1, [name]: counted.signal });
      for await (const _ of createMany(new FakeService(), links(5), { [name]: counted.signal }))
        break;
      expect(counted.added()).toBe(2);
      expect(counted.left()).toBe(0);
    }
  });

  it('closes the source and reports what is in flight when the loop is left', async () => {
    const service = new FakeService();
    service.onBatch = (n) => (n === 0 ? undefined : new Promise(() => undefined));
    const events: BatchEvent[] = [];
    let closed = false;
    async function* source() {
      try {
        yield* links(100);
      } finally {
        closed = true;
      }
    }
    const options = {
      batchSize: 2,
      concurrency: 2,
      onBatch: (e: BatchEvent) => void events.push(e),
    };
    for await (const _ of createMany(service, source(), options)) {
      await settle();
      break;
    }
    expect(closed).toBe(true);
    expect(lives(events)).toContain('2+2 unknown');
    expect(service.posting).toBe(0);
  });

  it('throws what the source throws, after what was in flight', async () => {
    const service = new FakeService();
    const error = new Error('unreadable');
    function* source() {
      yield* links(5);
      throw error;
    }
    const result = await run(service, source(), { batchSize: 2 });
    expect(result.error).toBe(error);
    expect(result.items.map((item) => item.index)).toEqual([0, 1, 2, 3]);
  });

  it.each(['planned', 'sent'])('sends nothing when the journal fails at %s', async (type) => {
    const service = new FakeService();
    const error = new Error('disk full');
    const onBatch = async (event: BatchEvent) => {
      if (event.type === type) throw error;
    };
    const result = await run(service, links(4), { batchSize: 2, onBatch });
    expect(result.error).toBe(error);
    expect(service.asked).toEqual([]);
    expect(result.items).toEqual([]);
  });

  it.each(['accepted', 'completed'])(
    'yields the batch all the same when the journal fails at %s',
    async (type) => {
      const service = new FakeService();
      service.syncLinks = 0;
      const error = new Error('disk full');
      const onBatch = (event: BatchEvent) => {
        if (event.type === type) throw error;
      };
      const result = await run(service, links(40), { batchSize: 2, concurrency: 1, onBatch });
      expect(result.error).toBe(error);
      expect(outcomes(result.items)).toBe('cc');
    },
  );

  it('awaits the journal before the request is sent', async () => {
    const service = new FakeService();
    const written = deferred();
    const onBatch = (event: BatchEvent) => (event.type === 'planned' ? written.promise : undefined);
    const done = run(service, links(1), { onBatch });
    await settle();
    expect(service.asked).toEqual([]);
    written.resolve();
    expect(outcomes((await done).items)).toBe('c');
  });

  it('ends the run when onJobProgress throws, and keeps the batch', async () => {
    const service = new FakeService();
    service.syncLinks = 0;
    service.onJob = (jobId, options) => options.onProgress?.(service.job(jobId));
    const error = new Error('drawing failed');
    const onJobProgress = () => {
      throw error;
    };
    const result = await run(service, links(4), { batchSize: 2, concurrency: 1, onJobProgress });
    expect(result.error).toBe(error);
    expect(outcomes(result.items)).toBe('cc');
  });

  it('ends the run with an error that is not of this package, and calls the batch unknown', async () => {
    const service = new FakeService();
    const error = new TypeError('defect');
    service.onBatch = () => {
      throw error;
    };
    const result = await run(service, links(1));
    expect(result.error).toBe(error);
    expect(outcomes(result.items)).toBe('u');
  });
});

describe('createMany: resume', () => {
  const recorded = (count: number, from: number) =>
    links(count, from).map(({ target_url }) => ({ code: codeOf(target_url), short_url: 's/x' }));

  it('sends only what no record covers, and keeps the order', async () => {
    const service = new FakeService();
    service.jobs.set(
      'job-a',
      links(2, 4).map((link) => ({ ...link, code: 'j', short_url: 's/j' })),
    );
    const { items, events } = await run(service, links(12), {
      batchSize: 5,
      resume: [
        { first: 8, count: 1, state: 'failed', error: 'bad host' },
        { first: 4, count: 2, state: 'accepted', job_id: 'job-a' },
        { first: 0, count: 2, state: 'completed', results: async () => recorded(2, 0) },
        { first: 6, count: 2, state: 'unknown', error: 'lost' },
        { first: 9, count: 1, state: 'planned' },
      ],
    });
    expect(outcomes(items)).toBe('ccccccuufccc');
    expect(items.map((item) => item.index)).toEqual(items.map((_, i) => i));
    expect(service.asked).toEqual([2, 1, 2]);
    expect(lives(events).filter((life) => life.endsWith('planned'))).toEqual([
      '2+2 planned',
      '9+1 planned',
      '10+2 planned',
    ]);
    expect(lives(events)).toContain('4+2 completed');
    expect(items[0]).toMatchObject({ code: codeOf('https://example.com/0') });
    expect(items[6]).toMatchObject({ error: 'lost' });
    expect(items[8]).toMatchObject({ error: 'bad host' });
    expect(service.waits[0]?.total).toBeUndefined();
  });

  it('sends a planned batch as exactly the same range, whatever the batch size', async () => {
    const service = new FakeService();
    const keys: string[] = [];
    await run(service, links(10), {
      batchSize: 3,
      resume: [{ first: 0, count: 7, state: 'planned' }],
      idempotencyKey: ({ first, count }) => {
        keys.push(`${first}-${count}`);
        return 'k';
      },
    });
    expect(keys).toEqual(['0-7', '7-3']);
  });

  it('refuses a source that ends before its records do', async () => {
    const service = new FakeService();
    const { error } = await run(service, links(5), {
      resume: [{ first: 4, count: 2, state: 'completed', results: () => recorded(2, 4) }],
    });
    expect(error).toMatchObject({ name: 'InvalidOptionError', message: /ended after 5/ });
    const beyond = await run(service, links(5), {
      resume: [{ first: 7, count: 2, state: 'unknown', error: 'lost' }],
    });
    expect(beyond.error).toBeInstanceOf(InvalidOptionError);
  });

  it('sends nothing when all was done, and ends with the error of a record that can not be read', async () => {
    const service = new FakeService();
    const { items } = await run(service, links(3), {
      resume: [{ first: 0, count: 3, state: 'completed', results: () => recorded(3, 0) }],
    });
    expect(outcomes(items)).toBe('ccc');
    expect(service.asked).toEqual([]);
    const error = new Error('journal unreadable');
    const broken = await run(service, links(3), {
      resume: [{ first: 0, count: 3, state: 'completed', results: () => Promise.reject(error) }],
    });
    expect(broken.error).toBe(error);
  });
});

/** A signal that counts its listeners. */
function countListeners() {
  const { signal } = new AbortController();
  let added = 0;
  let removed = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<AbortSignal['addEventListener']>) => {
    added += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<AbortSignal['removeEventListener']>) => {
    removed += 1;
    remove(...args);
  };
  return { signal, added: () => added, left: () => added - removed };
}
