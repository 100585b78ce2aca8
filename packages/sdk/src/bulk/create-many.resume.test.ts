import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../errors/call-errors.ts';
import { codeOf, FakeService, links } from './fake-service.ts';
import { lives, outcomes, runCreateMany } from './run-create-many.ts';

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
