import { describe, expect, it } from 'vitest';
import { apiError, deferred, FakeService, links } from '../../test/fake-service.ts';
import { lives, lost, outcomes, runCreateMany, settle } from '../../test/run-create-many.ts';
import { JobFailedError, JobTimeoutError } from '../errors/call-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { Job } from '../wire/batch.ts';
import type { BatchRecord } from './create-many.ts';
import { createMany } from './create-many.ts';

/** Loses the response to the n-th request, and to all that follow. */
function outage(n: number, error: Error = lost()) {
  const service = new FakeService();
  service.afterBatch = (request) => {
    if (request >= n) throw error;
  };
  return service;
}

describe('createMany: an unknown outcome', () => {
  it('stops the run: nothing more is sent, and the error is thrown', async () => {
    const error = apiError(502, { error: 'bad gateway' });
    const service = outage(2, error);
    const result = await runCreateMany(service, links(10_000), { batchSize: 10, concurrency: 1 });
    expect(result.error).toBe(error);
    expect(service.asked).toHaveLength(3);
    expect(outcomes(result.items)).toBe(`${'c'.repeat(20)}${'u'.repeat(10)}`);
    expect(result.items.at(-1)).toMatchObject({ error: error.message, cause: error });
    expect(result.events.at(-1)).toMatchObject({ type: 'unknown', first: 20, error });
  });

  it('lets what is in flight end, and yields it', async () => {
    const service = new FakeService();
    const slow = deferred();
    const job = deferred();
    const waits = deferred();
    service.syncLinks = 1;
    service.onJob = (id) => (id === 'job-1' ? job.promise : undefined);
    // The fifth request waits for a rate limit, so it was not sent.
    service.onWait = (n) => (n === 4 ? waits.promise : undefined);
    service.onBatch = async (n) => {
      if (n === 2) await slow.promise;
      if (n === 3) {
        await settle();
        throw lost();
      }
    };
    const done = runCreateMany(service, links(20), { batchSize: 2, concurrency: 4 });
    await settle();
    await settle();
    slow.resolve();
    job.resolve();
    const { items, error, events } = await done;
    expect(error).toMatchObject({ message: 'connection lost' });
    expect(outcomes(items)).toBe('ccccccuu');
    expect(service.asked).toEqual([2, 2, 2, 2]);
    expect(lives(events)).toContain('8+2 unsent');
    waits.resolve();
  });

  it.each([401, 403, 429])(
    'ends the run at a poll that is refused with %i, also with continue',
    async (status) => {
      const error = apiError(status, { error: 'no' });
      const service = new FakeService();
      service.syncLinks = 1;
      service.onJob = () => {
        throw error;
      };
      const options = { batchSize: 2, concurrency: 1, onUnknown: 'continue' } as const;
      const result = await runCreateMany(service, links(6), options);
      expect(result.error).toBe(error);
      expect(service.asked).toEqual([2]);
    },
  );

  it('sends nothing while onBatch records it', async () => {
    const service = outage(1);
    service.afterBatch = async (n) => {
      if (n === 1) throw lost();
      if (n > 1) await settle();
    };
    const { items } = await runCreateMany(service, links(100), {
      batchSize: 2,
      concurrency: 2,
      onBatch: ({ type }) => (type === 'unknown' ? settle() : undefined),
    });
    expect(service.asked.length).toBeLessThanOrEqual(3);
    expect(items.length).toBe(2 * service.asked.length);
  });

  it.each([
    ['onUnknown', { onUnknown: 'continue' }],
    ['idempotencyKey', { idempotencyKey: ({ first }: { first: number }) => `k${first}` }],
  ] as const)('does not stop a run with %s', async (_, options) => {
    const service = outage(1);
    const { items, error } = await runCreateMany(service, links(6), { batchSize: 2, ...options });
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe('ccuuuu');
  });

  it("stops a run with a key where onUnknown is 'stop'", async () => {
    const service = outage(1);
    const idempotencyKey = ({ first }: { first: number }) => `k${first}`;
    const options = { batchSize: 2, concurrency: 1, onUnknown: 'stop', idempotencyKey } as const;
    const { items, error } = await runCreateMany(service, links(6), options);
    expect(error).toMatchObject({ message: 'connection lost' });
    expect(outcomes(items)).toBe('ccuu');
  });

  it('refuses another word', () => {
    const onUnknown = JSON.parse('"skip"');
    expect(() => createMany(new FakeService(), links(1), { onUnknown })).toThrow(
      'onUnknown must be one of stop, continue',
    );
  });

  it.each([
    [
      'a job that can not be followed',
      new JobTimeoutError('late', { jobId: 'x', timeoutMs: 1 }),
      1,
    ],
    ['a job that is not found', apiError(404, { error: 'no such job' }), 1],
    ['no job that failed', failedJob(), 2],
  ])('is that of %s too', async (_, error, requests) => {
    const service = new FakeService();
    service.syncLinks = 0;
    service.onJob = (id) => {
      if (id === 'job-0') throw error;
    };
    const result = await runCreateMany(service, links(4), { batchSize: 2, concurrency: 1 });
    expect(service.asked).toHaveLength(requests);
    expect(outcomes(result.items)).toBe(requests === 1 ? 'uu' : 'uucc');
    expect(result.error).toBe(requests === 1 ? error : undefined);
  });

  it('gives what a job had done to links of one target that differ only where no result was left out', async () => {
    const entries = ['Poster', 'Flyer'].map((title) => ({ target_url: 'https://a.io/', title }));
    const outcomesOf = async (processed: number, endOf: (job: Job) => ShortlinkError) => {
      const results = [{ target_url: 'https://a.io/', code: 'c', short_url: 'https://s.io/c' }];
      const job = { id: 'job-0', status: 'failed', total: 2, processed, results };
      const service = new FakeService();
      service.syncLinks = 0;
      service.onJob = () => {
        throw endOf(job);
      };
      return outcomes((await runCreateMany(service, entries)).items);
    };
    for (const endOf of [
      (job: Job) => new JobFailedError('failed', { jobId: 'job-0', job }),
      (job: Job) => new JobTimeoutError('late', { jobId: 'job-0', timeoutMs: 1, job }),
    ]) {
      expect(await outcomesOf(1, endOf)).toBe('cu');
      expect(await outcomesOf(2, endOf)).toBe('uu');
    }
  });

  it.each([
    ['batch', 100],
    ['job', 0],
  ])('is that of a completed %s none of whose links has a result', async (_, syncLinks) => {
    const service = new FakeService();
    service.syncLinks = syncLinks;
    service.change = (results) => results.map(({ target_url }) => ({ target_url }));
    const result = await runCreateMany(service, links(6), { batchSize: 2, concurrency: 1 });
    expect(service.asked).toEqual([2]);
    expect(outcomes(result.items)).toBe('uu');
    expect(result.error).toMatchObject({ name: 'ResponseShapeError', path: 'results' });
    expect(result.items[0]).toMatchObject({ cause: result.error });
    expect(result.events.at(-1)).toMatchObject({ type: 'unknown', error: result.error });
  });

  it('is not that of a batch some of whose links have a result', async () => {
    const service = new FakeService();
    service.change = (results) => results.slice(1);
    const { items, error } = await runCreateMany(service, links(6), { batchSize: 2 });
    expect(outcomes(items)).toBe('ucucuc');
    expect(error).toBeUndefined();
  });

  it('of an earlier run does not stop the next one, which sends the rest', async () => {
    const journal: BatchRecord[] = [
      { first: 0, count: 2, state: 'unknown', error: 'lost' },
      { first: 2, count: 2, state: 'accepted', job_id: 'gone' },
    ];
    const service = new FakeService();
    const { items, error } = await runCreateMany(service, links(6), { resume: journal });
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe('uuuucc');
    expect(service.asked).toEqual([2]);
  });
});

function failedJob(): JobFailedError {
  const job = { id: 'job-0', status: 'failed', total: 2, processed: 0, results: [] };
  return new JobFailedError('failed', { jobId: 'job-0', job });
}
