import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { codeOf, FakeService, links } from '../../test/fake-service.ts';
import { outcomes, runCreateMany } from '../../test/run-create-many.ts';
import type { BatchEvent, BulkItem } from './create-many.ts';
import { createMany } from './create-many.ts';

const never = <T>() => new Promise<T>(() => undefined);
const reason = new Error('enough');

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Lets promises and short timers run. */
const settle = () => vi.advanceTimersByTimeAsync(5);

describe('createMany: an abort ends the iteration', () => {
  it.each(['planned', 'sent', 'completed', 'unknown', 'unsent'])(
    'although onBatch never returns from %s',
    async (type) => {
      const service = new FakeService();
      if (type === 'unknown') service.afterBatch = () => never();
      if (type === 'unsent') service.onWait = () => never();
      const controller = new AbortController();
      const onBatch = (event: BatchEvent) => (event.type === type ? never<void>() : undefined);
      const { signal } = controller;
      const done = runCreateMany(service, links(2), { onBatch, signal });
      await settle();
      controller.abort(reason);
      await vi.advanceTimersByTimeAsync(1_500);
      const { items, error } = await done;
      expect(error).toBe(reason);
      // Each link that may exist is yielded, and no other.
      const expected = { completed: 'cc', unknown: 'uu' };
      expect(outcomes(items)).toBe(Reflect.get(expected, type) ?? '');
      expect(service.created.size).toBe(items.length);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it('and gives a callback that is under way the time to finish', async () => {
    const service = new FakeService();
    service.afterBatch = () => never();
    const controller = new AbortController();
    const written: string[] = [];
    const onBatch = async ({ type }: BatchEvent) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      written.push(type);
    };
    const done = runCreateMany(service, links(2), { onBatch, signal: controller.signal });
    await vi.advanceTimersByTimeAsync(700);
    controller.abort(reason);
    await vi.advanceTimersByTimeAsync(300);
    expect((await done).error).toBe(reason);
    expect(written).toEqual(['planned', 'sent', 'unknown']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('although the results of a record never come', async () => {
    const controller = new AbortController();
    const record = { first: 0, count: 2, state: 'completed', results: () => never<[]>() } as const;
    const options = { resume: [record], signal: controller.signal };
    const done = runCreateMany(new FakeService(), links(2), options);
    await settle();
    controller.abort(reason);
    await settle();
    expect((await done).error).toBe(reason);
  });

  it.each(['signal', 'a loop that is left'])(
    'although return() of the source never returns: %s',
    async (how) => {
      const service = new FakeService();
      const entries = links(100)[Symbol.iterator]();
      const source = {
        [Symbol.asyncIterator]: () => ({
          next: async () => entries.next(),
          return: () => never<never>(),
        }),
      };
      const controller = new AbortController();
      const items: BulkItem[] = [];
      const run = async () => {
        const options = { batchSize: 2, signal: controller.signal };
        for await (const item of createMany(service, source, options)) {
          items.push(item);
          if (how === 'signal') controller.abort(reason);
          else break;
        }
      };
      const done = run();
      done.catch(() => undefined);
      await vi.advanceTimersByTimeAsync(1_500);
      await (how === 'signal' ? expect(done).rejects.toBe(reason) : done);
      expect(items[0]).toMatchObject({ code: codeOf('https://example.com/0') });
    },
  );

  it.each(['source', 'request'])(
    'by return() and throw() while next() waits for a %s',
    async (what) => {
      const act = async (end: (items: AsyncGenerator<BulkItem>) => Promise<unknown>) => {
        const service = new FakeService();
        let isAborted = false;
        service.afterBatch = () => never();
        async function* source() {
          if (what === 'request') yield* links(1);
          else await never();
        }
        const post = service.postBatch;
        const deps: typeof service = Object.assign(service, {
          postBatch: (...[batch, options, watch]: Parameters<typeof post>) => {
            options.signal?.addEventListener('abort', () => {
              isAborted = true;
            });
            return post(batch, options, watch);
          },
        });
        const items = createMany(deps, source());
        const next = items.next();
        next.catch(() => undefined);
        await vi.advanceTimersByTimeAsync(1_500);
        const ended = end(items);
        ended.catch(() => undefined);
        await settle();
        expect(isAborted).toBe(what === 'request');
        expect((await next).value).toEqual(
          what === 'request' ? expect.objectContaining({ outcome: 'unknown' }) : undefined,
        );
        expect(vi.getTimerCount()).toBe(0);
        return ended;
      };
      const done = { done: true, value: undefined };
      expect(await act((items) => items.return(undefined))).toEqual(done);
      await expect(act((items) => items.throw(reason))).rejects.toBe(reason);
    },
  );

  it('by return() before and after the run, and leaves no timer', async () => {
    const done = { done: true, value: undefined };
    expect(await createMany(new FakeService(), links(1)).return()).toEqual(done);
    const items = createMany(new FakeService(), links(1));
    for await (const { outcome } of items) expect(outcome).toBe('created');
    expect(await items.return()).toEqual(done);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('although onProgress of a job never returns', async () => {
    const service = new FakeService();
    service.syncLinks = 0;
    service.onJob = (jobId, options) => options.onProgress?.(service.job(jobId));
    const controller = new AbortController();
    const onJobProgress = () => never<void>();
    const done = runCreateMany(service, links(2), { onJobProgress, signal: controller.signal });
    await settle();
    controller.abort(reason);
    await vi.advanceTimersByTimeAsync(1_500);
    const { items, error } = await done;
    expect(error).toBe(reason);
    expect(outcomes(items)).toBe('uu');
  });
});
