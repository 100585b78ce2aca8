import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  apiError,
  badRequest,
  codeOf,
  FakeService,
  links,
  planLimit,
} from '../../test/fake-service.ts';
import { ConnectionError } from '../errors/call-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { CreateLinkBody } from '../wire/link.ts';
import type { BatchEvent, BatchRecord, BulkItem } from './create-many.ts';
import { createMany } from './create-many.ts';

/** What can become of a request. */
const RESPONSES = [
  'ok',
  'ok',
  'ok',
  'slow',
  'bad',
  'lost-before',
  'lost-after',
  'job-lost',
] as const;
/** What ends a run. */
const ENDS = ['none', 'none', 'plan', 'quota', 'unreachable'] as const;

const scenarios = fc.record({
  total: fc.nat(60),
  batchSize: fc.integer({ min: 1, max: 12 }),
  concurrency: fc.integer({ min: 1, max: 5 }),
  planSize: fc.integer({ min: 1, max: 14 }),
  syncLinks: fc.integer({ min: 0, max: 6 }),
  responses: fc.array(fc.constantFrom(...RESPONSES), { minLength: 1, maxLength: 20 }),
  delays: fc.array(fc.nat(3), { minLength: 1, maxLength: 20 }),
  end: fc.constantFrom(...ENDS),
  endAt: fc.nat(8),
  onUnknown: fc.constantFrom('stop', 'continue'),
  source: fc.constantFrom('sync', 'async', 'slow'),
  throwsAt: fc.option(fc.nat(60), { freq: 4, nil: Number.POSITIVE_INFINITY }),
  maxDelayMs: fc.constantFrom(0, 1, 1_000, undefined),
});
type Scenario = typeof scenarios extends fc.Arbitrary<infer S> ? S : never;

const lost = () => new ConnectionError('lost', { outcome: 'unknown' });
const ENDINGS: Record<(typeof ENDS)[number], () => ShortlinkError | undefined> = {
  none: () => undefined,
  plan: () => planLimit({ limit: 'links' }),
  quota: () => apiError(429, { error: 'quota' }),
  unreachable: () => new ConnectionError('refused', { outcome: 'not-sent' }),
};

/** Waits a few turns of the event loop, so that answers come in another order than their requests. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

const UNREADABLE = new Error('unreadable');

/** The links of a scenario, until its source throws. */
function sourceOf({ total, throwsAt, source, delays }: Scenario, onRead: () => void) {
  const given = Math.min(total, throwsAt);
  function* sync() {
    for (const link of links(given)) {
      onRead();
      yield link;
    }
    if (throwsAt < total) throw UNREADABLE;
  }
  async function* slow() {
    let n = 0;
    for (const link of sync()) {
      n += 1;
      if (source === 'slow') await turns(delays[n % delays.length] ?? 0);
      yield link;
    }
  }
  return { given, links: source === 'sync' ? sync() : slow() };
}

function serviceOf(scenario: Scenario): FakeService {
  const { responses, delays, planSize, end, endAt } = scenario;
  const at = <V>(list: readonly V[], n: number) => list[n % list.length];
  const service = new FakeService();
  service.syncLinks = scenario.syncLinks;
  service.onBatch = async (n, sent) => {
    await turns(at(delays, n) ?? 0);
    const ending = n === endAt ? ENDINGS[end]() : undefined;
    if (ending !== undefined) throw ending;
    if (sent.length > planSize) throw planLimit({ limit: 'batch_size', allowed: planSize });
    if (at(responses, n) === 'slow') await turns(5);
    if (at(responses, n) === 'bad') throw badRequest();
    if (at(responses, n) === 'lost-before') throw lost();
  };
  service.afterBatch = (n) => {
    if (at(responses, n) === 'lost-after') throw lost();
  };
  service.onJob = async (jobId) => {
    const n = Number(jobId.split('-')[1]);
    await turns(at(delays, n + 1) ?? 0);
    if (at(responses, n) === 'job-lost') throw lost();
  };
  return service;
}

/** Runs a scenario, checks what holds of every run, and gives back what a journal would have kept. */
async function check(scenario: Scenario, resume: BatchRecord[] = []) {
  const { batchSize, concurrency, onUnknown, maxDelayMs } = scenario;
  const service = serviceOf(scenario);
  let read = 0;
  let mostHeld = 0;
  const items: BulkItem<CreateLinkBody>[] = [];
  const source = sourceOf(scenario, () => {
    read += 1;
    mostHeld = Math.max(mostHeld, read - items.length);
  });
  const journal = new Map<number, BatchRecord>();
  let error: unknown;
  let isUnknown = false;
  let sentLater = 0;
  try {
    const onBatch = async (event: BatchEvent) => {
      if (event.type === 'sent' && isUnknown) sentLater += 1;
      isUnknown ||= event.type === 'unknown' && !resume.some(({ first }) => first === event.first);
      await turns(1);
      record(journal, event);
    };
    for await (const item of createMany(service, source.links, {
      batchSize,
      concurrency,
      onBatch,
      resume,
      onUnknown,
      maxDelayMs,
    })) {
      items.push(item);
    }
  } catch (thrown) {
    error = thrown;
  }

  const indexes = items.map((item) => item.index);
  expect(indexes).toEqual([...new Set(indexes)].toSorted((a, b) => a - b));
  for (const { index, input, ...result } of items) {
    expect(input.target_url).toBe(`https://example.com/${index}`);
    if (result.outcome === 'created') expect(result.code).toBe(codeOf(input.target_url));
    const isRecorded = resume.some(({ first, count }) => index >= first && index < first + count);
    const times = service.created.get(input.target_url) ?? 0;
    if (result.outcome === 'created' && !isRecorded) expect(times).toBe(1);
    if (result.outcome === 'failed' || isRecorded) expect(times).toBe(0);
  }
  for (const [url, times] of service.created) {
    expect(times, url).toBe(1);
    expect(
      items.some((item) => item.input.target_url === url),
      url,
    ).toBe(true);
  }
  if (error === undefined) expect(items).toHaveLength(scenario.total);
  // What was read before the source failed is sent, unless a record is of more.
  if (error === UNREADABLE && resume.length === 0) expect(items).toHaveLength(source.given);
  if (onUnknown === 'stop' && isUnknown) {
    expect(sentLater).toBe(0);
    expect(error).toBeDefined();
  }
  if (error instanceof Error && error.message === 'lost') expect(onUnknown).toBe('stop');
  expect(service.mostPosting).toBeLessThanOrEqual(concurrency);
  const largestRecord = Math.max(0, ...resume.map(({ count }) => count));
  expect(mostHeld).toBeLessThanOrEqual(Math.max(concurrency * batchSize, largestRecord));
  return { items, journal: [...journal.values()], error, service };
}

/** What a journal keeps of an event; a batch that was not carried out is forgotten. */
function record(journal: Map<number, BatchRecord>, event: BatchEvent): void {
  const { first, count } = event;
  const range = { first, count };
  switch (event.type) {
    case 'planned':
    case 'sent':
      journal.set(first, { ...range, state: 'unknown', error: 'killed while in flight' });
      break;
    case 'accepted':
      journal.set(first, { ...range, state: 'accepted', job_id: event.job_id });
      break;
    case 'completed': {
      const results = event.results.map(({ target_url: _, ...rest }) => rest);
      journal.set(first, { ...range, state: 'completed', results: () => results });
      break;
    }
    case 'failed':
    case 'unknown':
      journal.set(first, { ...range, state: event.type, error: event.error.message });
      break;
    case 'resized':
    case 'unsent':
      journal.delete(first);
      break;
  }
}

describe('createMany, whatever happens', () => {
  it('keeps order and memory bounds, sends no link twice and loses none', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        await check(scenario);
      }),
      { numRuns: 150 },
    );
  });

  it('continues from its own journal: what was settled is not sent again, the rest is', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, fc.integer({ min: 1, max: 12 }), async (scenario, batchSize) => {
        const earlier = await check(scenario);
        const { items, error } = await check(
          {
            ...scenario,
            responses: ['ok'],
            end: 'none',
            throwsAt: Number.POSITIVE_INFINITY,
            batchSize,
          },
          earlier.journal,
        );
        expect(error).toBeUndefined();
        expect(items).toHaveLength(scenario.total);
        const before = new Map(earlier.items.map((item) => [item.index, item.outcome]));
        for (const { index, outcome } of items) {
          expect(outcome).toBe(before.get(index) ?? 'created');
        }
      }),
      { numRuns: 100 },
    );
  });

  it('can be left at any item, with every batch in flight accounted for', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, fc.nat(30), async (scenario, leaveAt) => {
        const service = serviceOf(scenario);
        const { batchSize, concurrency, onUnknown, maxDelayMs } = scenario;
        const open = new Set<number>();
        const onBatch = ({ type, first }: BatchEvent) => {
          if (type === 'planned') open.add(first);
          else if (type !== 'sent' && type !== 'accepted') open.delete(first);
        };
        try {
          const source = sourceOf(scenario, () => undefined);
          for await (const { index } of createMany(service, source.links, {
            batchSize,
            concurrency,
            onBatch,
            onUnknown,
            maxDelayMs,
          })) {
            if (index >= leaveAt) break;
          }
        } catch (error) {
          const isLost = String(error).includes('lost') && onUnknown === 'stop';
          const isExpected = isLost || scenario.end !== 'none' || error === UNREADABLE;
          expect(isExpected, String(error)).toBe(true);
        }
        expect([...open]).toEqual([]);
        expect(service.posting).toBe(0);
        expect([...service.created.values()].every((times) => times === 1)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});
