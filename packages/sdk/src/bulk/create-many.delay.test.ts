import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { apiError, deferred, FakeService, links } from '../../test/fake-service.ts';
import { lives, outcomes } from '../../test/run-create-many.ts';
import type { LinkInput } from '../wire/link.ts';
import type { BatchEvent, BulkItem, CreateManyOptions } from './create-many.ts';
import { createMany } from './create-many.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Lets promises run. */
const settle = () => vi.advanceTimersByTimeAsync(0);

/** Gives a link every `everyMs` milliseconds, the first one at once. */
async function* slowSource(count: number, everyMs: number): AsyncGenerator<LinkInput> {
  for (const [index, link] of links(count).entries()) {
    if (index > 0) await new Promise((resolve) => setTimeout(resolve, everyMs));
    yield link;
  }
}

/** A run that is under way. */
function start(source: AsyncIterable<LinkInput>, options: CreateManyOptions = {}) {
  const service = new FakeService();
  const items: BulkItem[] = [];
  const events: BatchEvent[] = [];
  const run = async () => {
    const onBatch = (event: BatchEvent) => void events.push(event);
    for await (const item of createMany(service, source, { ...options, onBatch })) items.push(item);
  };
  const done = run().catch((error: unknown) => error);
  return { service, items, events, done };
}

describe('createMany with a slow source', () => {
  it('sends after a second what is there, not 1 ms before, and that is not the end', async () => {
    const { service, items, events, done } = start(slowSource(6, 400));
    await vi.advanceTimersByTimeAsync(999);
    expect(service.asked).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(service.asked).toEqual([3]);
    expect(items).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await done).toBeUndefined();
    expect(items.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(outcomes(items)).toBe('cccccc');
    expect(lives(events).filter((life) => life.endsWith('planned'))).toEqual([
      '0+3 planned',
      '3+3 planned',
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('counts the time from the first link of a batch', async () => {
    const silence = deferred();
    async function* source() {
      await silence.promise;
      yield* slowSource(2, 999);
    }
    const { service, done } = start(source());
    await vi.advanceTimersByTimeAsync(60_000);
    expect(service.asked).toEqual([]);
    silence.resolve();
    await vi.advanceTimersByTimeAsync(998);
    expect(service.asked).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await done;
    expect(service.asked).toEqual([2]);
  });

  it('waits for no more than a full batch, and sets no timer for a source that is fast', async () => {
    async function* source() {
      yield* links(5);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const { service, done } = start(source(), { batchSize: 5, maxDelayMs: 5_000 });
    await settle();
    expect(service.asked).toEqual([5]);
    await vi.advanceTimersByTimeAsync(10);
    expect(await done).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('takes 0 for no wait, and Infinity for no limit', async () => {
    const none = start(slowSource(3, 10), { maxDelayMs: 0 });
    await vi.advanceTimersByTimeAsync(20);
    await none.done;
    expect(none.service.asked).toEqual([1, 1, 1]);

    const all = start(slowSource(3, 60_000), { maxDelayMs: Number.POSITIVE_INFINITY });
    await vi.advanceTimersByTimeAsync(120_000);
    await all.done;
    expect(all.service.asked).toEqual([3]);
  });

  it('does not cut batches that have an idempotency key of their range, unless it is to', async () => {
    const idempotencyKey = ({ first, count }: { first: number; count: number }) =>
      `${first}-${count}`;
    const { service, done } = start(slowSource(3, 2_000), { idempotencyKey });
    await vi.advanceTimersByTimeAsync(4_000);
    await done;
    expect(service.asked).toEqual([3]);

    const cut = start(slowSource(3, 2_000), { idempotencyKey, maxDelayMs: 500 });
    await vi.advanceTimersByTimeAsync(4_000);
    await cut.done;
    expect(cut.service.requestOptions.map(({ idempotency }) => idempotency)).toEqual([
      ...['0-1', '1-1', '2-1'],
    ]);
  });

  it('does not cut the ranges of an earlier run', async () => {
    const { service, events, done } = start(slowSource(5, 2_000), {
      resume: [{ first: 1, count: 3, state: 'planned' }],
    });
    await vi.advanceTimersByTimeAsync(8_000);
    expect(await done).toBeUndefined();
    expect(service.asked).toEqual([1, 3, 1]);
    expect(lives(events)).toContain('1+3 sent');
  });

  it('sends small batches beside others that it has sent', async () => {
    const held = deferred();
    const { service, items, done } = start(slowSource(4, 600), { concurrency: 3 });
    service.onBatch = (n) => (n === 1 ? held.promise : undefined);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(service.asked).toEqual([2, 2]);
    expect(items).toHaveLength(2);
    held.resolve();
    await settle();
    expect(await done).toBeUndefined();
    expect(items).toHaveLength(4);
  });

  it('sends parts of a refused batch while the source is silent', async () => {
    const silent = deferred();
    async function* source() {
      yield* links(4);
      await silent.promise;
    }
    const { service, items, done } = start(source(), { batchSize: 4 });
    service.onBatch = (_, sent) => {
      if (sent.length > 2) throw apiError(413, { error: 'too large' });
    };
    await settle();
    expect(service.asked).toEqual([4, 2, 2]);
    expect(items).toHaveLength(4);
    silent.resolve();
    await settle();
    expect(await done).toBeUndefined();
  });

  it('holds no more links than it may, however slow the source is', async () => {
    let read = 0;
    async function* source() {
      for await (const link of slowSource(40, 300)) {
        read += 1;
        yield link;
      }
    }
    const service = new FakeService();
    service.onBatch = () => new Promise((resolve) => setTimeout(resolve, 5_000));
    let mostHeld = 0;
    let yielded = 0;
    const run = async () => {
      const options = { batchSize: 6, concurrency: 2 };
      for await (const _ of createMany(service, source(), options)) {
        mostHeld = Math.max(mostHeld, read - yielded);
        yielded += 1;
      }
    };
    const done = run();
    await vi.advanceTimersByTimeAsync(200_000);
    await done;
    expect(yielded).toBe(40);
    expect(mostHeld).toBeLessThanOrEqual(12);
  });
});
