import { describe, expect, it } from 'vitest';
import { codeOf, deferred, FakeService, links } from '../../test/fake-service.ts';
import { lives, outcomes, runCreateMany, settle } from '../../test/run-create-many.ts';
import { InvalidOptionError } from '../errors/call-errors.ts';

describe('createMany: resume', () => {
  const recorded = (count: number, from: number) =>
    links(count, from).map(({ target_url }) => ({ code: codeOf(target_url), short_url: 's/x' }));

  it('sends only what no record covers, and keeps the order', async () => {
    const service = new FakeService();
    service.jobs.set(
      'job-a',
      links(2, 4).map((link) => ({ ...link, code: 'j', short_url: 's/j' })),
    );
    const { items, events } = await runCreateMany(service, links(12), {
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
    await runCreateMany(service, links(10), {
      batchSize: 3,
      resume: [{ first: 0, count: 7, state: 'planned' }],
      idempotencyKey: ({ first, count }) => {
        keys.push(`${first}-${count}`);
        return 'k';
      },
    });
    expect(keys).toEqual(['0-7', '7-3']);
  });

  it('sends the first of several planned batches alone', async () => {
    const service = new FakeService();
    const first = deferred();
    service.onBatch = (n) => (n === 0 ? first.promise : undefined);
    const done = runCreateMany(service, links(4), {
      batchSize: 2,
      resume: [
        { first: 0, count: 2, state: 'planned' },
        { first: 2, count: 2, state: 'planned' },
      ],
    });
    await settle();
    expect(service.asked).toEqual([2]);
    first.resolve();
    expect(outcomes((await done).items)).toBe('cccc');
  });

  it('holds no more links than a run may, and still comes to the end of its records', async () => {
    const { items } = await runCreateMany(new FakeService(), links(4), {
      batchSize: 2,
      concurrency: 1,
      resume: [
        { first: 0, count: 2, state: 'completed', results: () => recorded(2, 0) },
        { first: 2, count: 2, state: 'completed', results: () => recorded(2, 2) },
      ],
    });
    expect(outcomes(items)).toBe('cccc');
  });

  const created = (target_url: string) => ({ target_url, code: 'c', short_url: 's/c' });

  it('leaves a link unknown that is not in the results of a completed record', async () => {
    const results = () => [created('https://example.com/0')];
    const { items } = await runCreateMany(new FakeService(), links(2), {
      resume: [{ first: 0, count: 2, state: 'completed', results }],
    });
    expect(outcomes(items)).toBe('cu');
    expect(items[1]).toMatchObject({ error: expect.stringContaining('no result') });
  });

  it.each([
    ['has no links', 0, [], 'uuu'],
    ['says that more were sent', 3, [created('https://example.com/0')], 'cuu'],
    [
      'has a link that nobody sent',
      2,
      [created('https://example.com/0'), created('https://else.example/')],
      'cuu',
    ],
  ])('leaves links unknown that are not in a job that %s', async (_, total, results, expected) => {
    const service = new FakeService();
    service.job = (id) => ({ id, status: 'completed', total, processed: total, results });
    const { items, error } = await runCreateMany(service, links(3), {
      resume: [{ first: 0, count: 3, state: 'accepted', job_id: 'job-a' }],
    });
    expect(outcomes(items)).toBe(expected);
    // Another run has sent the batch, so that it says nothing about what this one sends.
    expect(error).toBeUndefined();
  });

  it('refuses a source that ends before its records do', async () => {
    const service = new FakeService();
    const { error } = await runCreateMany(service, links(5), {
      resume: [{ first: 4, count: 2, state: 'completed', results: () => recorded(2, 4) }],
    });
    expect(error).toMatchObject({ name: 'InvalidOptionError', message: /ended after 5/ });
    const beyond = await runCreateMany(service, links(5), {
      resume: [{ first: 7, count: 2, state: 'unknown', error: 'lost' }],
    });
    expect(beyond.error).toBeInstanceOf(InvalidOptionError);
  });

  it('ends with the error of a source that fails before its records do', async () => {
    const failure = new Error('the file can not be read');
    async function* source() {
      yield* links(2);
      throw failure;
    }
    const { error } = await runCreateMany(new FakeService(), source(), {
      resume: [{ first: 4, count: 2, state: 'unknown', error: 'lost' }],
    });
    expect(error).toBe(failure);
  });

  it.each(['planned', 'accepted'] as const)(
    'sends and follows nothing of a batch that a source fails in, since its other links are missing (%s)',
    async (state) => {
      const failure = new Error('the file can not be read');
      async function* source() {
        yield* links(2);
        throw failure;
      }
      const service = new FakeService();
      const { error } = await runCreateMany(service, source(), {
        resume: [{ first: 0, count: 4, state, job_id: 'job-a' }],
        idempotencyKey: () => 'k',
      });
      expect(error).toBe(failure);
      expect([service.asked, service.waits]).toEqual([[], []]);
    },
  );

  it('sends nothing when all was done, and ends with the error of a record that can not be read', async () => {
    const service = new FakeService();
    const { items } = await runCreateMany(service, links(3), {
      resume: [{ first: 0, count: 3, state: 'completed', results: () => recorded(3, 0) }],
    });
    expect(outcomes(items)).toBe('ccc');
    expect(service.asked).toEqual([]);
    const error = new Error('journal unreadable');
    const broken = await runCreateMany(service, links(3), {
      resume: [{ first: 0, count: 3, state: 'completed', results: () => Promise.reject(error) }],
    });
    expect(broken.error).toBe(error);
  });
});
