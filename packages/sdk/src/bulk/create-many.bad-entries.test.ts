import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { apiError, badRequest, FakeService, links, planLimit } from '../../test/fake-service.ts';
import { pickyService, positionOf } from '../../test/picky-service.ts';
import { lives, lost, outcomes, runCreateMany } from '../../test/run-create-many.ts';
import type { BatchEvent, BulkItem } from './create-many.ts';

const eventOf = <Type extends BatchEvent['type']>(events: readonly BatchEvent[], type: Type) =>
  events.filter((event): event is Extract<BatchEvent, { type: Type }> => event.type === type);

describe('createMany: bad entries that the response names', () => {
  it('fail with their own reason, and the others are sent in one more request', async () => {
    const service = pickyService({ isBad: (position) => [3, 500].includes(position) });
    const { items, events, error } = await runCreateMany(service, links(1_000));
    expect(error).toBeUndefined();
    expect(service.asked).toEqual([1_000, 998]);
    expect(service.created.size).toBe(998);
    expect(items.filter((item) => item.outcome === 'failed')).toMatchObject(
      [3, 500].map((index) => ({
        index,
        error: `target_url: bad entry ${index}`,
        cause: { name: 'BadRequestError' },
      })),
    );
    expect(lives(events)).toEqual(
      ['planned', 'sent', 'reduced', 'accepted', 'completed'].map((type) => `0+1000 ${type}`),
    );
    const results = eventOf(events, 'completed')[0]?.results ?? [];
    expect(results).toHaveLength(1_000);
    expect(results[3]).toEqual({
      target_url: 'https://example.com/3',
      error: 'target_url: bad entry 3',
    });
    expect(results[999]).toMatchObject({ code: 'httpsexamplecom999' });
    expect(service.waits[0]?.total).toBe(998);
  });

  it('takes as many requests as the response takes to name them all, each reported before it is sent', async () => {
    const service = pickyService({ isBad: (position) => position % 4 === 0 });
    const { items, events } = await runCreateMany(service, links(1_000));
    expect(service.asked).toEqual([1_000, 900, 800, 750]);
    expect(outcomes(items)).toBe('fccc'.repeat(250));
    const refused = eventOf(events, 'reduced').map(
      ({ results }) => results.filter(({ error }) => error !== undefined).length,
    );
    expect(refused).toEqual([100, 200, 250]);
  });

  it('are reported before the request without them, and the run ends where that is not recorded', async () => {
    const service = pickyService({ isBad: (position) => position === 3 });
    const asked: number[] = [];
    const { items, error } = await runCreateMany(service, links(10), {
      onBatch: ({ type }) => {
        if (type !== 'reduced') return;
        asked.push(...service.asked);
        throw new Error('The disk is full');
      },
    });
    expect(asked).toEqual([10]);
    expect(service.asked).toEqual([10]);
    expect(error).toMatchObject({ message: 'The disk is full' });
    expect(items).toEqual([]);
  });

  it('are reported of each part of a batch that was too large as well', async () => {
    const service = new FakeService();
    service.onBatch = (_, sent) => {
      const index = sent.findIndex((link) => positionOf(link) === 3);
      if (index >= 0) throw badRequest([{ index, field: 'title', message: 'too long' }]);
      if (sent.length > 5) throw planLimit({ limit: 'batch_size', used: sent.length, allowed: 5 });
    };
    const { events } = await runCreateMany(service, links(10));
    const ofPart = lives(events).filter((event) => event.startsWith('0+5'));
    expect(ofPart).toEqual(['0+5 planned', '0+5 sent', '0+5 reduced', '0+5 completed']);
    const [, { results = [] } = {}] = eventOf(events, 'reduced');
    expect(results.map(({ error }) => error)).toEqual([
      undefined,
      undefined,
      undefined,
      'title: too long',
      undefined,
    ]);
  });

  it('that are all of a batch end it without another request', async () => {
    const service = pickyService({ isBad: (position) => position < 250 });
    const { items, events } = await runCreateMany(service, links(300), { batchSize: 250 });
    expect(outcomes(items)).toBe('f'.repeat(250) + 'c'.repeat(50));
    expect(service.asked).toEqual([250, 150, 50, 50]);
    expect(lives(events).slice(0, 5)).toEqual(
      ['planned', 'sent', 'reduced', 'reduced', 'completed'].map((type) => `0+250 ${type}`),
    );
  });

  it('are found by halving where the named positions make no sense', async () => {
    const NONSENSE = [-1, 8, 99, 0.5, Number.NaN, 1e21, undefined];
    for (const index of NONSENSE) {
      const service = new FakeService();
      service.onBatch = (_, sent) => {
        const isBad = sent.some((link) => positionOf(link) === 5);
        if (isBad) throw badRequest([{ index, field: 'target_url', message: 'no' }]);
      };
      const { items } = await runCreateMany(service, links(8), { concurrency: 1 });
      expect(outcomes(items), String(index)).toBe('cccccfcc');
      expect(service.asked).toEqual([8, 4, 4, 2, 1, 1, 2]);
    }
  });

  it('are those with a position that makes sense, named once or several times', async () => {
    const service = new FakeService();
    service.onBatch = (_, sent) => {
      const index = sent.findIndex((link) => positionOf(link) === 1);
      const fields = [index, index, -3, 70].map((at) => ({ index: at, field: 'f', message: 'm' }));
      if (index >= 0) throw badRequest(fields);
    };
    const { items } = await runCreateMany(service, links(3));
    expect(service.asked).toEqual([3, 2]);
    expect(items[1]).toMatchObject({ outcome: 'failed', error: 'f: m; f: m' });
  });

  it('have their field named once, also by a service whose messages begin with it', async () => {
    const service = new FakeService();
    service.onBatch = (_, sent) => {
      const index = sent.findIndex((link) => positionOf(link) === 1);
      if (index >= 0) throw badRequest([{ index, field: 'tags[2]', message: 'tags[2] is empty' }]);
    };
    const { items } = await runCreateMany(service, links(2));
    expect(items[1]).toMatchObject({ outcome: 'failed', error: 'tags[2] is empty' });
  });

  it('end after as many requests as there are entries when the service names one after the other', async () => {
    const service = pickyService({ isBad: () => true, details: 1 });
    const { items } = await runCreateMany(service, links(20));
    expect(outcomes(items)).toBe('f'.repeat(20));
    expect(service.asked).toHaveLength(20);
  });

  it('end a batch as completed although the service names no entry of the last one', async () => {
    const service = new FakeService();
    service.onBatch = (n) => {
      throw badRequest(n === 0 ? [{ index: 0, field: 'title', message: 'too long' }] : undefined);
    };
    const { items, events } = await runCreateMany(service, links(2));
    expect(lives(events)).toEqual(['0+2 planned', '0+2 sent', '0+2 reduced', '0+2 completed']);
    expect(items).toMatchObject([{ error: 'title: too long' }, { error: 'links[1]: bad' }]);
  });

  it('stay failed when the other entries are lost, or the run ends before they are sent', async () => {
    const service = pickyService({ isBad: (position) => position === 1 });
    service.afterBatch = () => {
      throw lost();
    };
    const result = await runCreateMany(service, links(3));
    expect(outcomes(result.items)).toBe('ufu');
    expect(lives(result.events).at(-1)).toBe('0+3 unknown');

    for (const name of ['signal', 'stopSignal']) {
      const end = new AbortController();
      const stopped = new FakeService();
      stopped.onBatch = () => {
        end.abort(new Error('enough'));
        throw badRequest([{ index: 0, field: 'f', message: 'm' }]);
      };
      const { items, events } = await runCreateMany(stopped, links(3), { [name]: end.signal });
      expect(stopped.asked).toEqual([3]);
      expect(stopped.created.size).toBe(0);
      if (name === 'stopSignal') expect(lives(events).at(-1)).toBe('0+3 unsent');
      expect(items.filter(({ outcome }) => outcome === 'created')).toEqual([]);
    }
  });

  it.each([true, false])(
    'stay failed in a later run when the other entries are lost: %s',
    async (isLost) => {
      const service = pickyService({ isBad: (position) => position === 1 });
      const { onBatch } = service;
      service.onBatch = (n, sent) => {
        onBatch(n, sent);
        if (!isLost) throw apiError(422, { error: 'no', code: 'idempotency_conflict' });
      };
      service.afterBatch = () => {
        throw lost();
      };
      const { events, items } = await runCreateMany(service, links(3), {
        idempotencyKey: ({ first }) => `key-${first}`,
      });
      const event = events.at(-1);
      if (event?.type !== 'unknown') throw new Error('its outcome is unknown');
      const { first, count, error, results = [] } = event;
      expect(results).toEqual([
        { target_url: 'https://example.com/0' },
        { target_url: 'https://example.com/1', error: 'target_url: bad entry 1' },
        { target_url: 'https://example.com/2' },
      ]);
      const record = { first, count, error: error.message, results: () => results };
      const again = await runCreateMany(new FakeService(), links(3), {
        resume: [{ ...record, state: 'unknown' }],
      });
      const shown = (item: BulkItem) => [item.outcome, item.outcome === 'created' || item.error];
      expect(again.items.map(shown)).toEqual(items.map(shown));
      expect(outcomes(again.items)).toBe('ufu');
    },
  );

  it('keep their reason in the journal when the service refuses all others too', async () => {
    const service = pickyService({ isBad: (position) => position === 1 });
    const { onBatch } = service;
    service.onBatch = (n, sent) => {
      onBatch(n, sent);
      throw apiError(422, { error: 'never' });
    };
    const { events, items } = await runCreateMany(service, links(3), {
      idempotencyKey: ({ first }) => `key-${first}`,
    });
    const errors = ['never', 'target_url: bad entry 1', 'never'];
    expect(items).toMatchObject(errors.map((error) => ({ outcome: 'failed', error })));
    expect(eventOf(events, 'failed')[0]?.results[1]).toMatchObject({ error: errors[1] });
  });

  it('keep their reason when the others do not fit into the plan', async () => {
    const service = pickyService({ isBad: (position) => position === 1 });
    const { onBatch } = service;
    service.onBatch = (n, sent) => {
      onBatch(n, sent);
      const room = 4 - service.created.size;
      if (sent.length > room) {
        throw planLimit({ limit: 'links', used: service.created.size, allowed: 4 });
      }
    };
    const { items, error } = await runCreateMany(service, links(10));
    expect(outcomes(items)).toBe('cfccc');
    expect(error).toMatchObject({ name: 'PlanLimitError', used: 4 });
    // The bad entry is never sent again.
    expect(service.asked).toEqual([10, 9, 3, 6, 1, 5]);
  });
});

describe('createMany: bad entries that the response does not name', () => {
  it.each([
    [0, 1_024],
    [1_023, 1_024],
    [300, 1_024],
    [999, 1_000],
    [4_321, 10_000],
  ])('are found by halving: entry %i of %i', async (bad, total) => {
    const service = pickyService({ isBad: (position) => position === bad, details: 0 });
    const { items, error, events } = await runCreateMany(service, links(total));
    expect(error).toBeUndefined();
    expect(items.filter((item) => item.outcome !== 'created')).toMatchObject([
      { index: bad, outcome: 'failed', error: 'links[1]: bad', cause: { status: 400 } },
    ]);
    expect(service.asked.length - 1).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(total)));
    expect(lives(events).slice(0, 4)).toEqual([
      `0+${total} planned`,
      `0+${total} sent`,
      `0+${total} resized`,
      `0+${total / 2} planned`,
    ]);
    expect(lives(events)).toContain(`${bad}+1 failed`);
  });

  it('fail alone, each with the message of the service', async () => {
    const service = new FakeService();
    service.onBatch = (_, [link]) => {
      if (link !== undefined) throw apiError(400, { error: `no to ${positionOf(link)}` });
    };
    const { items, error } = await runCreateMany(service, links(20));
    expect(error).toBeUndefined();
    expect(items.map((item) => item.outcome === 'failed' && item.error)).toEqual(
      items.map((_, index) => `no to ${index}`),
    );
    expect(service.asked).toHaveLength(39);
  });

  it('in front of others do not end the run: the last link of a file that has grown is among the first that are tried', async () => {
    const service = pickyService({ isBad: (position) => position < 4_999, details: 0 });
    const { items } = await runCreateMany(service, links(5_000));
    expect(items.at(-1)).toMatchObject({ index: 4_999, outcome: 'created' });
  });

  it.each([400, 413])(
    'end the run when the service refuses all sizes with %i: 20 links from different places are enough',
    async (status) => {
      const service = new FakeService();
      const places = new Set<number>();
      service.onBatch = (_, sent) => {
        for (const link of sent.length === 1 ? sent : [])
          places.add(Math.floor(positionOf(link) / 100));
        throw apiError(status, { error: 'no' });
      };
      const { items, error } = await runCreateMany(service, links(1_000));
      expect(error).toMatchObject({ status });
      expect(outcomes(items)).toBe('f'.repeat(20));
      expect(service.asked.length).toBeLessThan(100);
      expect(places.size).toBeGreaterThanOrEqual(8);
      expect(service.asked).toEqual([
        1000,
        500,
        250,
        125,
        63,
        32,
        16,
        8,
        4,
        2,
        ...Array(20).fill(1),
      ]);
    },
  );

  it('end the run after 1,000 links with different messages', async () => {
    const service = new FakeService();
    service.onBatch = (_, [link]) => {
      if (link !== undefined) throw apiError(400, { error: `no to ${positionOf(link)}` });
    };
    const { items, error } = await runCreateMany(service, links(3_000), { batchSize: 500 });
    expect(error).toMatchObject({ name: 'BadRequestError' });
    expect(outcomes(items)).toBe('f'.repeat(1_000));
    expect(service.asked.length).toBeLessThanOrEqual(2_000);
  });

  it('do not end a run whose first 100 links are bad', async () => {
    const service = pickyService({ isBad: (position) => position < 100, details: 0 });
    const { items, error } = await runCreateMany(service, links(1_000));
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe(`${'f'.repeat(100)}${'c'.repeat(900)}`);
  });

  it('do not end a run of few links, also where these are read some at a time', async () => {
    const service = pickyService({ isBad: (position) => position < 25, details: 0 });
    const options = { batchSize: 3, concurrency: 1 };
    const { items, error } = await runCreateMany(service, links(30), options);
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe(`${'f'.repeat(25)}${'c'.repeat(5)}`);
  });

  it('end a run of many links soon, also where these are read some at a time', async () => {
    const service = pickyService({ isBad: () => true, details: 0 });
    const options = { batchSize: 10, concurrency: 1 };
    const { error } = await runCreateMany(service, links(1_000), options);
    expect(error).toMatchObject({ status: 400 });
    expect(service.asked.length).toBeLessThan(120);
  });

  it('are not looked for when the responses are lost', async () => {
    const service = new FakeService();
    service.afterBatch = (n) => {
      if (n === 0) throw lost();
    };
    const options = { batchSize: 1_200, onUnknown: 'continue' } as const;
    const { items, error } = await runCreateMany(service, links(2_400), options);
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe('u'.repeat(1_200) + 'c'.repeat(1_200));
  });

  it('end the run at once when the service refuses the domain of the run', async () => {
    const service = new FakeService();
    service.onBatch = () => {
      throw badRequest([{ field: 'domain_id', message: 'is not a domain of this account' }]);
    };
    const { items, error } = await runCreateMany(service, links(300), { domain_id: 'd' });
    expect(error).toMatchObject({ name: 'BadRequestError' });
    expect(items).toEqual([]);
    expect(service.asked).toEqual([300]);
  });

  it('do not end a run in which the service took a link', async () => {
    const service = pickyService({ isBad: (position) => position > 0, details: 0 });
    const { items, error } = await runCreateMany(service, links(1_500), { batchSize: 100 });
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe(`c${'f'.repeat(1_499)}`);
  });
});

describe('createMany, whatever the bad entries', () => {
  const scenarios = fc.record({
    total: fc.integer({ min: 1, max: 90 }),
    bad: fc.uniqueArray(fc.nat(89), { maxLength: 30 }),
    details: fc.constantFrom(0, 0, 1, 3, 100),
    maxLinks: fc.option(fc.integer({ min: 1, max: 40 }), { nil: undefined }),
    batchSize: fc.integer({ min: 1, max: 100 }),
    concurrency: fc.integer({ min: 1, max: 4 }),
    syncLinks: fc.constantFrom(0, 5, 100),
  });

  it('creates every good entry once, fails every bad one, and stays within its number of requests', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async ({ total, bad, syncLinks, ...scenario }) => {
        const { details, maxLinks, batchSize, concurrency } = scenario;
        const isBad = (position: number) => bad.includes(position);
        const service = pickyService({ isBad, details, ...(maxLinks && { maxLinks }) });
        service.syncLinks = syncLinks;
        const options = { batchSize, concurrency };
        const { items, events, error } = await runCreateMany(service, links(total), options);
        expect(error).toBeUndefined();
        expect(items.map(({ index }) => index)).toEqual([...Array(total).keys()]);
        for (const item of items) {
          expect(item.outcome).toBe(isBad(item.index) ? 'failed' : 'created');
          expect(service.created.get(item.input.target_url) ?? 0).toBe(isBad(item.index) ? 0 : 1);
        }
        for (const { results, count } of eventOf(events, 'completed')) {
          expect(results).toHaveLength(count);
        }
        const here = bad.filter((position) => position < total).length;
        const log = Math.ceil(Math.log2(Math.min(total, batchSize)));
        if (maxLinks === undefined && details === 0) {
          const batches = Math.ceil(total / batchSize);
          expect(service.asked.length).toBeLessThanOrEqual(batches + here * 2 * log);
        }
        if (maxLinks === undefined && details > 0) {
          const batches = Math.ceil(total / batchSize);
          expect(service.asked.length).toBeLessThanOrEqual(batches + here);
        }
      }),
      { numRuns: 100 },
    );
  });
});
