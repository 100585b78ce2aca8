import { describe, expect, it } from 'vitest';
import type { BatchEvent, BulkItem, CreateManyOptions } from '../src/bulk/create-many.ts';
import type { ShortlinkOptions } from '../src/options.ts';
import { json } from './answers.ts';
import { FakeClock, settle } from './fake-clock.ts';
import { FakeFetch } from './fake-fetch.ts';
import { makeClient } from './make-client.ts';

const LINKS = ['a', 'b'].map((name) => ({ target_url: `https://example.com/${name}` }));

/** A bulk run of batches of one link on a clock that stands still and a network that the test answers. */
function start(clientOptions: ShortlinkOptions, options: CreateManyOptions = {}) {
  const clock = new FakeClock();
  const network = new FakeFetch();
  const { links } = makeClient({ fetch: network.fetch, ...clientOptions }, { clock });
  const lives: string[] = [];
  const onBatch = ({ first, type }: BatchEvent) => void lives.push(`${first} ${type}`);
  const items: BulkItem[] = [];
  const run = async () => {
    for await (const item of links.createMany(LINKS, { batchSize: 1, onBatch, ...options })) {
      items.push(item);
    }
  };
  const done = run().catch((error: unknown) => error);
  return { clock, network, lives, items, done };
}

/** Answers a batch of the `n`th link. */
function complete(network: FakeFetch, index: number, n: number) {
  const target_url = LINKS[n]?.target_url;
  const results = [{ target_url, code: 'abc', short_url: 'https://s.example/abc' }];
  return network.answer(index, json({ status: 'completed', total: 1, results }, 200));
}

describe('a batch of a bulk run', () => {
  it('is sent, says its journal, when the pace lets it: not 1 ms before', async () => {
    const { clock, network, lives, items, done } = start({ requestsPerMinute: 1 });
    await complete(network, 0, 0);
    await clock.advance(59_999);
    expect(lives).toEqual(['0 planned', '0 sent', '0 completed', '1 planned']);
    await clock.advance(1);
    expect(lives.slice(4)).toEqual(['1 sent']);
    expect(network.sent).toHaveLength(2);
    await complete(network, 1, 1);
    expect(await done).toBeUndefined();
    expect(items.map((item) => item.outcome)).toEqual(['created', 'created']);
  });

  it('is not written before its journal has it', async () => {
    let written = () => {};
    const onBatch = ({ type }: BatchEvent) =>
      type === 'sent' ? new Promise<void>((resolve) => (written = resolve)) : undefined;
    const { network, items, done } = start({}, { concurrency: 1, batchSize: 2, onBatch });
    await settle();
    expect(network.sent).toHaveLength(0);
    written();
    await settle();
    expect(network.sent).toHaveLength(1);
    await network.answer(0, json({ error: 'no' }, 401));
    expect(await done).toMatchObject({ status: 401 });
    expect(items).toEqual([]);
  });

  it('that is refused when the run was ended already says why', async () => {
    const stop = new AbortController();
    const errors: unknown[] = [];
    const onBatch = (event: BatchEvent) => {
      if (event.type === 'unsent') errors.push(event.error);
    };
    const options = { concurrency: 1, batchSize: 2, onBatch, stopSignal: stop.signal };
    const { network, done } = start({}, options);
    await settle();
    stop.abort();
    await network.answer(0, json({ error: 'no' }, 403));
    expect(await done).toMatchObject({ name: 'PermissionError' });
    expect(errors).toMatchObject([{ name: 'PermissionError', status: 403 }]);
  });

  it('that is aborted while its journal is being written ends after that', async () => {
    const controller = new AbortController();
    const steps: string[] = [];
    const onBatch = async ({ type }: BatchEvent) => {
      steps.push(`${type} begins`);
      if (type === 'sent') controller.abort(new Error('enough'));
      await settle();
      steps.push(`${type} is written`);
    };
    // With a time limit the call ends with the abort itself, whatever is going on in it.
    const { network, done } = start(
      { totalTimeoutMs: 60_000 },
      { batchSize: 2, onBatch, signal: controller.signal },
    );
    await done;
    expect(steps.slice(2)).toEqual([
      'sent begins',
      'sent is written',
      'unsent begins',
      'unsent is written',
    ]);
    expect(network.sent).toHaveLength(0);
  });

  it.each(['stopSignal', 'signal'] as const)(
    'that waits for the pace is unsent as soon as %s is aborted',
    async (name) => {
      const controller = new AbortController();
      const { clock, network, lives, items, done } = start(
        { requestsPerMinute: 1 },
        { [name]: controller.signal },
      );
      await complete(network, 0, 0);
      const reason = new Error('enough');
      controller.abort(reason);
      expect(await done).toBe(name === 'signal' ? reason : undefined);
      expect(lives.slice(3)).toEqual(['1 planned', '1 unsent']);
      expect(items.map((item) => item.outcome)).toEqual(['created']);
      expect(network.sent).toHaveLength(1);
      expect(clock.sleeping).toBe(0);
    },
  );

  it('that was refused with 429 and waits for the next attempt is unsent', async () => {
    const controller = new AbortController();
    const { clock, network, lives, done } = start({}, { signal: controller.signal });
    await network.answer(0, json({ error: 'no' }, 429, { 'Retry-After': '60' }));
    await settle();
    expect(clock.sleeping).toBe(1);
    controller.abort(new Error('enough'));
    await done;
    expect(lives).toEqual(['0 planned', '0 sent', '0 unsent']);
    expect(clock.sleeping).toBe(0);
  });

  it('of which an attempt was lost is unknown, though a later one was refused', async () => {
    const controller = new AbortController();
    let attempts = 0;
    const fetch = async () => {
      attempts += 1;
      if (attempts === 1) throw new TypeError('Failed to fetch');
      return json({ error: 'no' }, 429, { 'Retry-After': '60' });
    };
    const options = { signal: controller.signal };
    const { clock, lives, done } = start({ fetch, idempotency: true }, options);
    await clock.advance(500);
    expect(attempts).toBe(2);
    controller.abort(new Error('enough'));
    await done;
    expect(lives).toEqual(['0 planned', '0 sent', '0 unknown']);
  });

  it('that is being sent is finished after stopSignal, and reported as sent before each request', async () => {
    const controller = new AbortController();
    const { clock, network, lives, done } = start({}, { stopSignal: controller.signal });
    await network.answer(0, json({ error: 'no' }, 429, { 'Retry-After': '1' }));
    await clock.advance(1000);
    controller.abort();
    await complete(network, 1, 0);
    expect(await done).toBeUndefined();
    expect(lives).toEqual(['0 planned', '0 sent', '0 sent', '0 completed']);
  });
});
