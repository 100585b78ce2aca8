import { describe, expect, it } from 'vitest';
import { apiError, deferred, FakeService, links, planLimit } from '../../test/fake-service.ts';
import { lives, lost, outcomes, runCreateMany, settle } from '../../test/run-create-many.ts';
import { ConnectionError, JobFailedError, JobTimeoutError } from '../errors/call-errors.ts';
import type { BulkItem } from './create-many.ts';
import { createMany } from './create-many.ts';

describe('createMany: batches that fail', () => {
  it.each([
    ['a lost connection', lost()],
    ['a 500', apiError(500, { error: 'oops' })],
    ['a 409', apiError(409, { error: 'in progress' })],
    [
      'an idempotency conflict',
      apiError(422, { error: 'other body', code: 'idempotency_conflict' }),
    ],
  ])(
    'reports a batch as unknown after %s, sends it once, and continues if it is to',
    async (_, error) => {
      const service = new FakeService();
      service.afterBatch = (n) => {
        if (n === 0) throw error;
      };
      const options = { batchSize: 2, onUnknown: 'continue' } as const;
      const result = await runCreateMany(service, links(4), options);
      expect(result.error).toBeUndefined();
      expect(outcomes(result.items)).toBe('uucc');
      expect(result.items[0]).toMatchObject({ error: error.message, cause: error });
      expect(service.asked).toEqual([2, 2]);
      expect(lives(result.events)).toContain('0+2 unknown');
    },
  );

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
    const done = runCreateMany(service, links(100), { batchSize: 2, concurrency: 3 });
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
    const { error } = await runCreateMany(service, links(6), { batchSize: 2, concurrency: 3 });
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
    const done = runCreateMany(service, links(6), { batchSize: 2, concurrency: 3 });
    await settle();
    held.resolve();
    expect((await done).items.map((item) => item.index)).toEqual([0, 1, 4, 5]);
  });

  it('surfaces the error of a single item, and a result without a code', async () => {
    const service = new FakeService();
    const deps = {
      ...service,
      postBatch: async () => ({
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
  ])(
    'leaves the batch unknown with its job after %s, and continues if it is to',
    async (_, error) => {
      const {
        items,
        events,
        error: thrown,
      } = await runCreateMany(failing(error), links(4), { batchSize: 2, onUnknown: 'continue' });
      expect(thrown).toBeUndefined();
      expect(outcomes(items)).toBe('uucc');
      const results = links(2);
      expect(events).toContainEqual({
        first: 0,
        count: 2,
        type: 'unknown',
        error,
        results,
        job_id: 'job-0',
      });
    },
  );

  it.each([
    ['a deadline before the first poll', new JobTimeoutError('late', { jobId: 'x', timeoutMs: 1 })],
    ['a lost connection', lost()],
  ])('reports no results of a single link after %s', async (_, error) => {
    const { events } = await runCreateMany(failing(error), links(1));
    expect(events.at(-1)).toMatchObject({ type: 'unknown' });
    expect(events.at(-1)).toHaveProperty('results', links(1));
  });

  it('leaves a link unknown that is not in the results of its job', async () => {
    const service = new FakeService();
    service.syncLinks = 0;
    service.onJob = (jobId) => void service.jobs.get(jobId)?.pop();
    const { items } = await runCreateMany(service, links(2));
    expect(outcomes(items)).toBe('cu');
  });

  it('needs no onJobProgress', async () => {
    const service = new FakeService();
    service.syncLinks = 0;
    service.onJob = (jobId, options) => options.onProgress?.(service.job(jobId));
    const { items, error } = await runCreateMany(service, links(2));
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe('cc');
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
    const { items } = await runCreateMany(failing(error), links(2));
    expect(outcomes(items)).toBe('cu');
    expect(items[1]).toMatchObject({ cause: error });
  });

  it('ends the run when polling is refused, with the batch unknown', async () => {
    const error = apiError(429, { error: 'quota' });
    const result = await runCreateMany(failing(error), links(4), { batchSize: 2, concurrency: 1 });
    expect(result.error).toBe(error);
    expect(outcomes(result.items)).toBe('uu');
  });
});
