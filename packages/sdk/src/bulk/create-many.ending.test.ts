import { describe, expect, it } from 'vitest';
import { apiError, deferred, FakeService, links, planLimit } from '../../test/fake-service.ts';
import { lives, outcomes, runCreateMany, settle } from '../../test/run-create-many.ts';
import type { BatchEvent } from './create-many.ts';
import { createMany } from './create-many.ts';

describe('createMany: ending early', () => {
  it('ends softly: finishes what is in flight and sends nothing new', async () => {
    const service = new FakeService();
    const stop = new AbortController();
    const slow = deferred();
    service.onBatch = (n) => (n === 1 ? slow.promise : undefined);
    const done = runCreateMany(service, links(10), {
      batchSize: 2,
      concurrency: 2,
      stopSignal: stop.signal,
    });
    await settle();
    const sent = service.asked.length;
    stop.abort();
    slow.resolve();
    const { items, error } = await done;
    expect(error).toBeUndefined();
    expect(service.asked).toHaveLength(sent);
    expect(items.map((item) => item.index)).toEqual(links(2 * sent).map((_, i) => i));
  });

  it('ends softly while a source hangs', async () => {
    const stop = new AbortController();
    async function* hanging() {
      yield* links(2);
      await new Promise(() => undefined);
    }
    const done = runCreateMany(new FakeService(), hanging(), {
      batchSize: 2,
      stopSignal: stop.signal,
    });
    await settle();
    stop.abort();
    expect(outcomes((await done).items)).toBe('cc');
  });

  it('aborts what is in flight, yields it as unknown, and throws the reason', async () => {
    const service = new FakeService();
    const abort = new AbortController();
    service.onBatch = (n) => (n === 0 ? undefined : new Promise(() => undefined));
    const done = runCreateMany(service, links(10), {
      batchSize: 2,
      concurrency: 3,
      signal: abort.signal,
    });
    await settle();
    // A reason that is an error of ours must not be taken for an answer of the service.
    const reason = planLimit({ limit: 'batch_size' });
    abort.abort(reason);
    const { items, error, events } = await done;
    expect(error).toBe(reason);
    expect(outcomes(items).startsWith('ccuu')).toBe(true);
    expect(items[2]).toMatchObject({ cause: { outcome: 'unknown', cause: reason } });
    expect(lives(events)).toContain('2+2 unknown');
  });

  it('sends nothing when it was aborted before', async () => {
    const service = new FakeService();
    const reason = new Error('no');
    const result = await runCreateMany(service, links(1), { signal: AbortSignal.abort(reason) });
    expect(result.error).toBe(reason);
    expect(service.asked).toEqual([]);
    expect(
      (await runCreateMany(service, links(1), { stopSignal: AbortSignal.abort() })).error,
    ).toBeUndefined();
    expect(service.asked).toEqual([]);
  });

  it('leaves no listener on the signals', async () => {
    for (const name of ['signal', 'stopSignal'] as const) {
      const counted = countListeners();
      await runCreateMany(new FakeService(), links(5), { batchSize: 1, [name]: counted.signal });
      for await (const _ of createMany(new FakeService(), links(5), { [name]: counted.signal }))
        break;
      expect(counted.added()).toBe(2);
      expect(counted.left()).toBe(0);
    }
  });

  it('closes the source and reports what is in flight when the loop is left', async () => {
    const service = new FakeService();
    service.onBatch = (n) => (n === 0 ? undefined : new Promise(() => undefined));
    const events: BatchEvent[] = [];
    let closed = false;
    async function* source() {
      try {
        yield* links(100);
      } finally {
        closed = true;
      }
    }
    const options = {
      batchSize: 2,
      concurrency: 2,
      onBatch: (e: BatchEvent) => void events.push(e),
    };
    for await (const _ of createMany(service, source(), options)) {
      await settle();
      break;
    }
    expect(closed).toBe(true);
    expect(lives(events)).toContain('2+2 unknown');
    expect(service.posting).toBe(0);
  });

  it('throws what the source throws when it is closed', async () => {
    const stop = new AbortController();
    const error = new Error('can not be closed');
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false as const, value: { target_url: 'https://example.com/' } }),
        return: () => Promise.reject(error),
      }),
    };
    const options = { batchSize: 1, stopSignal: stop.signal, onBatch: () => stop.abort() };
    expect((await runCreateMany(new FakeService(), source, options)).error).toBe(error);
  });

  it('keeps what the service said in the moment of an abort', async () => {
    const service = new FakeService();
    const abort = new AbortController();
    const reason = new Error('enough');
    const refusal = apiError(404, { error: 'wrong address' });
    service.onBatch = () => {
      abort.abort(reason);
      throw refusal;
    };
    const { items, events, error } = await runCreateMany(service, links(1), {
      signal: abort.signal,
    });
    expect(error).toBe(reason);
    expect(items).toEqual([]);
    expect(events.at(-1)).toMatchObject({ type: 'unsent', error: refusal });
  });

  it('throws what is known before a batch is sent, although the run was stopped in that moment', async () => {
    const service = new FakeService();
    const stop = new AbortController();
    const refusal = apiError(429, { error: 'quota' });
    service.onWait = () => {
      stop.abort();
      throw refusal;
    };
    const { events, error } = await runCreateMany(service, links(1), { stopSignal: stop.signal });
    expect(error).toBe(refusal);
    expect(events.at(-1)).toMatchObject({ type: 'unsent', error: refusal });
  });

  it('ends softly: repeats a request that was lost under its key', async () => {
    const service = new FakeService();
    const stop = new AbortController();
    const { postBatch } = service;
    const postTwice: typeof postBatch = async (request, options, watch) => {
      await watch.beforeSend();
      // The response is lost, and the run is stopped before the next attempt.
      stop.abort();
      return await postBatch(request, options, watch);
    };
    Object.assign(service, { postBatch: postTwice });
    const options = { stopSignal: stop.signal, idempotencyKey: () => 'k' };
    const { items, error } = await runCreateMany(service, links(2), options);
    expect(error).toBeUndefined();
    expect(outcomes(items)).toBe('cc');
  });

  it('reports nothing as sent when idempotencyKey stops the run', async () => {
    const stop = new AbortController();
    const idempotencyKey = () => {
      stop.abort();
      return 'k';
    };
    const options = { stopSignal: stop.signal, idempotencyKey };
    const { events } = await runCreateMany(new FakeService(), links(1), options);
    expect(lives(events)).toEqual(['0+1 planned', '0+1 unsent']);
  });

  it('sends what was read before the source failed, and throws its error then', async () => {
    const service = new FakeService();
    const error = new Error('unreadable');
    function* source() {
      yield* links(5);
      throw error;
    }
    const result = await runCreateMany(service, source(), { batchSize: 2 });
    expect(result.error).toBe(error);
    expect(outcomes(result.items)).toBe('ccccc');
  });

  it.each(['sync', 'async'])(
    'sends 5,000 links that a %s source gave before it failed',
    async (kind) => {
      const error = new Error('unreadable');
      function* sync() {
        yield* links(5_000);
        throw error;
      }
      async function* async() {
        yield* sync();
      }
      const result = await runCreateMany(new FakeService(), kind === 'sync' ? sync() : async());
      expect(result.error).toBe(error);
      expect(outcomes(result.items)).toBe('c'.repeat(5_000));
    },
  );

  it('throws what ended the run before the links of a source that failed were sent', async () => {
    const service = new FakeService();
    const limit = planLimit({ limit: 'links' });
    service.onBatch = () => {
      throw limit;
    };
    function* source() {
      yield* links(3);
      throw new Error('unreadable');
    }
    const { items, error } = await runCreateMany(service, source());
    expect(error).toBe(limit);
    expect(items).toEqual([]);
  });

  it.each(['planned', 'sent'])('sends nothing when the journal fails at %s', async (type) => {
    const service = new FakeService();
    const error = new Error('disk full');
    const onBatch = async (event: BatchEvent) => {
      if (event.type === type) throw error;
    };
    const result = await runCreateMany(service, links(4), { batchSize: 2, onBatch });
    expect(result.error).toBe(error);
    expect(service.asked).toEqual([]);
    expect(result.items).toEqual([]);
  });

  it.each(['accepted', 'completed'])(
    'yields the batch all the same when the journal fails at %s',
    async (type) => {
      const service = new FakeService();
      service.syncLinks = 0;
      const error = new Error('disk full');
      const onBatch = (event: BatchEvent) => {
        if (event.type === type) throw error;
      };
      const result = await runCreateMany(service, links(40), {
        batchSize: 2,
        concurrency: 1,
        onBatch,
      });
      expect(result.error).toBe(error);
      expect(outcomes(result.items)).toBe('cc');
    },
  );

  it('awaits the journal before the request is sent', async () => {
    const service = new FakeService();
    const written = deferred();
    const onBatch = (event: BatchEvent) => (event.type === 'planned' ? written.promise : undefined);
    const done = runCreateMany(service, links(1), { onBatch });
    await settle();
    expect(service.asked).toEqual([]);
    written.resolve();
    expect(outcomes((await done).items)).toBe('c');
  });

  it('ends the run when onJobProgress throws, and keeps the batch', async () => {
    const service = new FakeService();
    service.syncLinks = 0;
    service.onJob = (jobId, options) => options.onProgress?.(service.job(jobId));
    const error = new Error('drawing failed');
    const onJobProgress = () => {
      throw error;
    };
    const result = await runCreateMany(service, links(4), {
      batchSize: 2,
      concurrency: 1,
      onJobProgress,
    });
    expect(result.error).toBe(error);
    expect(outcomes(result.items)).toBe('cc');
  });

  it('ends the run with an error that is not of this package, and calls the batch unknown', async () => {
    const service = new FakeService();
    const error = new TypeError('defect');
    service.onBatch = () => {
      throw error;
    };
    const result = await runCreateMany(service, links(1));
    expect(result.error).toBe(error);
    expect(outcomes(result.items)).toBe('u');
  });

  it('ends the run with such an error before a batch is sent, and knows that nothing was done', async () => {
    const service = new FakeService();
    const defect = new TypeError('defect');
    service.onWait = () => {
      throw defect;
    };
    const { items, events, error } = await runCreateMany(service, links(1));
    expect(error).toBe(defect);
    expect(items).toEqual([]);
    const last = { type: 'unsent', error: { outcome: 'not-sent', cause: defect } };
    expect(events.at(-1)).toMatchObject(last);
  });

  it('reports what refused a batch before it was sent', async () => {
    const service = new FakeService();
    const refusal = apiError(429, { error: 'quota' });
    service.onWait = () => {
      throw refusal;
    };
    const { events, error } = await runCreateMany(service, links(1));
    expect(error).toBe(refusal);
    expect(events.at(-1)).toMatchObject({ type: 'unsent', error: refusal });
  });
});

/** A signal that counts its listeners. */
function countListeners() {
  const { signal } = new AbortController();
  let added = 0;
  let removed = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<AbortSignal['addEventListener']>) => {
    added += 1;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<AbortSignal['removeEventListener']>) => {
    removed += 1;
    remove(...args);
  };
  return { signal, added: () => added, left: () => added - removed };
}
