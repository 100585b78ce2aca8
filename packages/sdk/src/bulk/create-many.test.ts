import { describe, expect, it } from 'vitest';
import { codeOf, FakeService, links } from '../../test/fake-service.ts';
import { lives, outcomes, runCreateMany } from '../../test/run-create-many.ts';
import { show } from '../check-options.ts';
import { InvalidOptionError } from '../errors/call-errors.ts';
import type { CreateLinkBody } from '../wire/link.ts';
import type { BatchRecord, CreateManyOptions } from './create-many.ts';
import { createMany } from './create-many.ts';

describe('createMany', () => {
  it('yields each link with its own code, in order, with nothing sent for an empty source', async () => {
    const service = new FakeService();
    const { items, error } = await runCreateMany(service, links(5), { batchSize: 2 });
    expect(error).toBeUndefined();
    expect(items.map((item) => item.index)).toEqual([0, 1, 2, 3, 4]);
    for (const item of items) {
      expect(item).toMatchObject({ outcome: 'created', code: codeOf(item.input.target_url) });
    }
    expect(service.asked).toEqual([2, 2, 1]);
    expect((await runCreateMany(service, [])).items).toEqual([]);
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
        new ReadableStream<CreateLinkBody>({
          start(controller) {
            for (const link of links(3)) controller.enqueue(link);
            controller.close();
          },
        }),
    };
    for (const [name, source] of Object.entries(sources)) {
      const { items } = await runCreateMany(new FakeService(), source());
      expect(items, name).toHaveLength(3);
    }
  });

  it('reports the life of a batch that is answered at once', async () => {
    const { events } = await runCreateMany(new FakeService(), links(2));
    expect(lives(events)).toEqual(['0+2 planned', '0+2 sent', '0+2 completed']);
    expect(events[2]).toMatchObject({ results: [{ code: 'httpsexamplecom0' }, {}] });
  });

  it('waits for the job of a larger batch, and tells how many links it has', async () => {
    const service = new FakeService();
    const progress: unknown[] = [];
    service.onJob = (jobId, options) => options.onProgress?.(service.job(jobId));
    const { events, items } = await runCreateMany(service, links(101), {
      jobTimeoutMs: 5_000,
      headers: { a: 'b' },
      onJobProgress: (batch, job) => progress.push([batch, job.id]),
    });
    expect(outcomes(items)).toBe('c'.repeat(101));
    expect(lives(events)).toEqual(
      ['planned', 'sent', 'accepted', 'completed'].map((t) => `0+101 ${t}`),
    );
    expect(events[2]).toMatchObject({ job_id: 'job-0' });
    expect(events[3]).toMatchObject({ job_id: 'job-0' });
    expect(service.waits[0]).toMatchObject({
      total: 101,
      timeoutMs: expect.closeTo(5_000, -3),
      headers: { a: 'b' },
    });
    expect(progress).toEqual([[{ first: 0, count: 101 }, 'job-0']]);
  });

  it('passes the domain, request options and idempotency keys on', async () => {
    const service = new FakeService();
    const options = {
      domain_id: 'd1',
      batchSize: 2,
      timeoutMs: 7,
      maxRetries: 1,
      headers: { a: 'b' },
    };
    const idempotencyKey = ({ first, count }: { first: number; count: number }) =>
      `${first}-${count}`;
    for await (const _ of createMany(service, links(3), { ...options, idempotencyKey }));
    expect(service.bodies.map((body) => body.domain_id)).toEqual(['d1', 'd1']);
    expect(service.requestOptions[1]).toMatchObject({
      timeoutMs: 7,
      maxRetries: 1,
      headers: { a: 'b' },
      idempotency: '2-1',
    });
  });

  it('sends the fields of a link and nothing else that the objects of the caller hold', async () => {
    const service = new FakeService();
    const full = { title: 't', domain_id: 'd', redirect_type: 301, tags: ['a'] } as const;
    const row = { ...links(1)[0], ...full, email: 'a@example.com', password_hash: 'secret' };
    await runCreateMany(service, [row as CreateLinkBody, ...links(1, 1)]);
    expect(service.bodies).toEqual([{ links: [{ ...links(1)[0], ...full }, ...links(1, 1)] }]);
  });

  it.each([undefined, null, 'https://example.com', 7])(
    'ends with an error that names the position of an entry that is %s',
    async (wrong) => {
      const service = new FakeService();
      const source = [...links(5), wrong as unknown as CreateLinkBody, ...links(1, 6)];
      const { items, error } = await runCreateMany(service, source, { batchSize: 2 });
      expect(error).toBeInstanceOf(InvalidOptionError);
      expect(error).toMatchObject({
        message: `source[5] must be a link, such as { target_url }, not ${show(wrong)}`,
      });
      expect(outcomes(items)).toBe('ccccc');
    },
  );

  it('closes a source that gives an entry that is no link', async () => {
    let isClosed = false;
    function* source() {
      try {
        yield undefined as unknown as CreateLinkBody;
      } finally {
        isClosed = true;
      }
    }
    await runCreateMany(new FakeService(), source());
    expect(isClosed).toBe(true);
  });

  it('refuses bad options before anything is read', () => {
    const service = new FakeService();
    const bad: CreateManyOptions[] = [
      { concurrency: 0 },
      { concurrency: 1.5 },
      { batchSize: 0 },
      { batchSize: 10_001 },
      { jobTimeoutMs: -1 },
      { maxDelayMs: -1 },
      { timeoutMs: -1 },
      { maxRetries: 0.5 },
      { headers: { 'a b': 'c' } },
      { onBatch: {} as never },
      { onJobProgress: 'log' as never },
      { idempotencyKey: 'key' as never },
      { signal: new AbortController() as never },
      { stopSignal: true as never },
      { resume: 5 as never },
      // As an array it would be empty, and all links would be created again.
      { resume: (async function* () {})() as never },
      { resume: [null as never] },
      { resume: [{ first: 0, count: 1, state: 'done' } as unknown as BatchRecord] },
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
    for (const notIterable of [5, null, {}] as unknown[]) {
      const make = () => createMany(service, notIterable as CreateLinkBody[]);
      expect(make).toThrow('source must be iterable or async iterable');
    }
  });
});
