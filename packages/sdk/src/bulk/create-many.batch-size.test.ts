import { describe, expect, it } from 'vitest';
import { apiError, deferred, FakeService, links, planLimit } from '../../test/fake-service.ts';
import { lives, outcomes, runCreateMany, settle } from '../../test/run-create-many.ts';
import type { CreateLinkBody } from '../wire/link.ts';

describe('createMany: finding the batch size', () => {
  const limitTo = (size: number, body: object) => (_: number, sent: readonly CreateLinkBody[]) => {
    if (sent.length > size) throw planLimit(body);
  };

  it('goes from 10,000 to 5,000 to 100 and loses nothing', async () => {
    const service = new FakeService();
    service.onBatch = limitTo(100, { limit: 'batch_size' });
    const { items, error } = await runCreateMany(service, links(10_250));
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe('c'.repeat(10_250));
    expect(service.asked.slice(0, 4)).toEqual([10_000, 5_000, 100, 100]);
    expect(service.asked).toHaveLength(2 + 103);
    expect([...service.created.values()].every((times) => times === 1)).toBe(true);
  });

  it('goes to the allowed size at once where the service names it', async () => {
    const service = new FakeService();
    service.onBatch = limitTo(700, { limit: 'batch_size', allowed: 700 });
    const { events } = await runCreateMany(service, links(1_500));
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
      await runCreateMany(service, links(6_000));
      expect(service.asked).toEqual([6_000, 5_000, 1_000]);
    },
  );

  it('shrinks on a 403 that does not name its limit, until a size is taken', async () => {
    const service = new FakeService();
    service.onBatch = limitTo(5_000, { allowed: 15 });
    await runCreateMany(service, links(6_000));
    expect(service.asked).toEqual([6_000, 5_000, 1_000]);
  });

  it('stops after the smallest size for a 403 that does not name its limit', async () => {
    const service = new FakeService();
    service.onBatch = limitTo(0, {});
    const { items, error, events } = await runCreateMany(service, links(20_000));
    expect(service.asked).toEqual([10_000, 5_000, 100]);
    expect(error).toMatchObject({ name: 'PlanLimitError' });
    expect(items).toEqual([]);
    expect(events.at(-1)?.type).toBe('unsent');
  });

  it('does not shrink for the total of links without numbers', async () => {
    const service = new FakeService();
    service.onBatch = limitTo(0, { limit: 'links', allowed: 15 });
    const { error } = await runCreateMany(service, links(20_000));
    expect(service.asked).toEqual([10_000]);
    expect(error).toMatchObject({ limit: 'links' });
  });

  it('does not shrink a size that was taken before', async () => {
    const service = new FakeService();
    service.onBatch = (n) => {
      if (n === 1) throw planLimit();
    };
    const { items, error } = await runCreateMany(service, links(600), {
      batchSize: 200,
      concurrency: 1,
    });
    expect(service.asked).toEqual([200, 200]);
    expect(outcomes(items)).toBe('c'.repeat(200));
    expect(error).toMatchObject({ name: 'PlanLimitError' });
  });

  it('halves a batch whose body is too large', async () => {
    const service = new FakeService();
    service.onBatch = (_, sent) => {
      if (sent.length > 30) throw apiError(413, { error: 'too large' });
    };
    const { items } = await runCreateMany(service, links(100));
    expect(outcomes(items)).toBe('c'.repeat(100));
    expect(service.asked).toEqual([100, 50, 25, 25, 25, 25]);
  });

  it.each([400, 413])(
    'learns a size that is refused with %i once, not again for each batch',
    async (status) => {
      const service = new FakeService();
      service.onBatch = (_, sent) => {
        if (sent.length > 700) throw apiError(status, { error: 'too many links' });
      };
      const { items, error } = await runCreateMany(service, links(20_050));
      expect(error).toBeUndefined();
      expect(outcomes(items)).toBe('c'.repeat(20_050));
      expect(service.asked.slice(0, 6)).toEqual([10_000, 5_000, 2_500, 1_250, 625, 625]);
      expect(service.asked.filter((size) => size > 700)).toHaveLength(4);
      expect(service.asked.filter((size) => size === 625).length).toBeGreaterThanOrEqual(30);
      expect(service.asked.length).toBeLessThanOrEqual(4 + 34);
    },
  );

  it('does not take a bad entry for a size that is too large', async () => {
    const service = new FakeService();
    service.onBatch = (_, sent) => {
      if (sent.some(({ target_url }) => target_url.endsWith('/3')))
        throw apiError(400, { error: 'bad' });
    };
    await runCreateMany(service, links(48), { batchSize: 16, concurrency: 1 });
    expect(service.asked).toEqual([16, 8, 4, 2, 2, 1, 1, 4, 8, 16, 16]);
  });

  it('learns a size although an entry is bad too', async () => {
    const service = new FakeService();
    service.onBatch = (_, sent) => {
      const isBad = sent.some(({ target_url }) => target_url.endsWith('/0'));
      if (isBad || sent.length > 10) throw apiError(400, { error: 'bad' });
    };
    const { items } = await runCreateMany(service, links(64), { batchSize: 32, concurrency: 1 });
    expect(outcomes(items)).toBe(`f${'c'.repeat(63)}`);
    expect(service.asked).toEqual([32, 16, 8, 4, 2, 1, 1, 2, 4, 8, 16, 8, 8, 8, 8, 8, 8]);
  });

  it('fails a single link whose body is too large, and goes on', async () => {
    const service = new FakeService();
    service.onBatch = (n) => {
      if (n === 0) throw apiError(413, { error: 'too large' });
    };
    const { items } = await runCreateMany(service, links(2), { batchSize: 1 });
    expect(outcomes(items)).toBe('fc');
  });

  it('sends the first batch alone until its size is taken, and the others while its job runs', async () => {
    const service = new FakeService();
    const first = deferred();
    const job = deferred();
    service.onBatch = (n) => (n === 0 ? first.promise : undefined);
    service.onJob = (id) => (id === 'job-0' ? job.promise : undefined);
    const done = runCreateMany(service, links(800), { batchSize: 200, concurrency: 4 });
    await settle();
    expect(service.asked).toHaveLength(1);
    first.resolve();
    await settle();
    expect(service.asked).toHaveLength(4);
    job.resolve();
    expect(outcomes((await done).items)).toBe('c'.repeat(800));
  });
});
