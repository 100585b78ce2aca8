import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { deferred, FakeService, links, planLimit } from '../../test/fake-service.ts';
import { lives, outcomes, runCreateMany, settle } from '../../test/run-create-many.ts';
import type { BatchEvent, CreateManyOptions } from './create-many.ts';

/** A run that the test stops: softly, or at once. */
const ENDINGS = [
  { name: 'stopSignal', isSoft: true },
  { name: 'signal', isSoft: false },
] as const;

/** One batch that goes out and ends, then one that waits to be written, as it would for a rate limit. */
function startWaiting(options: CreateManyOptions) {
  const service = new FakeService();
  service.onWait = (n) => (n === 0 ? undefined : new Promise(() => undefined));
  const events: BatchEvent[] = [];
  const done = runCreateMany(service, links(10), {
    batchSize: 2,
    concurrency: 2,
    onBatch: (event) => void events.push(event),
    ...options,
  });
  return { service, events, done };
}

describe('createMany: batches that wait to be sent', () => {
  it('are reported as sent only when the wait is over', async () => {
    const stop = new AbortController();
    const { events, done } = startWaiting({ stopSignal: stop.signal });
    await settle();
    expect(lives(events)).toContain('2+2 planned');
    expect(lives(events)).not.toContain('2+2 sent');
    stop.abort();
    await done;
  });

  it.each(ENDINGS)('are unsent when $name ends the run', async ({ name, isSoft }) => {
    const controller = new AbortController();
    const { service, events, done } = startWaiting({ [name]: controller.signal });
    await settle();
    const reason = new Error('enough');
    controller.abort(reason);
    const { items, error } = await done;
    expect(error).toBe(isSoft ? undefined : reason);
    expect(outcomes(items)).toBe('cc');
    expect(service.created.size).toBe(2);
    expect(lives(events).filter((life) => !life.startsWith('0+2'))).toEqual([
      '2+2 planned',
      '4+2 planned',
      '2+2 unsent',
      '4+2 unsent',
    ]);
  });

  it('are unsent when another batch meets what every batch would meet', async () => {
    const service = new FakeService();
    const refusal = planLimit({ limit: 'links' });
    service.onWait = (n) => (n === 2 ? new Promise(() => undefined) : undefined);
    service.onBatch = async (n) => {
      if (n !== 1) return;
      await settle();
      throw refusal;
    };
    const options = { batchSize: 2, concurrency: 2 };
    const { items, error, events } = await runCreateMany(service, links(6), options);
    expect(error).toBe(refusal);
    expect(outcomes(items)).toBe('cc');
    expect(lives(events)).toContain('4+2 unsent');
  });

  it.each(ENDINGS)(
    'are unsent when $name comes while the wait for a refused one lasts',
    async ({ name }) => {
      const controller = new AbortController();
      const service = new FakeService();
      const { postBatch } = service;
      // A 429, then the wait before the next attempt.
      service.onWait = () => new Promise(() => undefined);
      Object.assign(service, {
        postBatch: async (...args: Parameters<typeof postBatch>) => {
          const [, , watch] = args;
          await watch.beforeSend();
          watch.nothingDone();
          return postBatch(...args);
        },
      });
      const done = runCreateMany(service, links(2), { [name]: controller.signal });
      await settle();
      controller.abort(new Error('enough'));
      const { items, events } = await done;
      expect(items).toEqual([]);
      expect(lives(events)).toEqual(['0+2 planned', '0+2 sent', '0+2 unsent']);
    },
  );

  it('are unsent when they are refused after the run was stopped, and are not sent again', async () => {
    const stop = new AbortController();
    const service = new FakeService();
    const { postBatch } = service;
    Object.assign(service, {
      postBatch: async (...args: Parameters<typeof postBatch>) => {
        const [, { signal }, watch] = args;
        await watch.beforeSend();
        stop.abort();
        expect(signal?.aborted).toBe(false);
        watch.nothingDone();
        // The wait for the next attempt is given up.
        expect(signal?.aborted).toBe(true);
        signal?.throwIfAborted();
        return postBatch(...args);
      },
    });
    const { error, events } = await runCreateMany(service, links(2), { stopSignal: stop.signal });
    expect(error).toBeUndefined();
    expect(lives(events)).toEqual(['0+2 planned', '0+2 sent', '0+2 unsent']);
    expect(service.created.size).toBe(0);
  });

  it.each([
    { at: 'planned', types: ['planned', 'unsent'] },
    { at: 'sent', types: ['planned', 'sent', 'unsent'] },
  ])(
    'are not written when the abort comes while the journal writes "$at"',
    async ({ at, types }) => {
      for (const { name } of ENDINGS) {
        const service = new FakeService();
        const controller = new AbortController();
        const seen: string[] = [];
        const { items } = await runCreateMany(service, links(1), {
          [name]: controller.signal,
          onBatch: async (event) => {
            if (event.type === at) controller.abort(new Error('stop'));
            await settle();
            seen.push(event.type);
          },
        });
        expect(items).toEqual([]);
        expect(service.asked).toEqual([]);
        // In order, each step awaited, though the abort ended the request while the journal was writing.
        expect(seen).toEqual(types);
      }
    },
  );
});

describe('createMany: jobs that are waited for', () => {
  /** Three batches that become jobs, of which the first two end when the test says so. */
  function startJobs(options: CreateManyOptions = {}) {
    const service = new FakeService();
    service.syncLinks = 1;
    const ends = [deferred(), deferred()];
    service.onJob = (jobId) => ends[Number(jobId.slice('job-'.length))]?.promise;
    const asked = { batchSize: 2, concurrency: 3, jobTimeoutMs: 60_000, ...options };
    return { service, ends, done: runCreateMany(service, links(6), asked) };
  }

  it('are asked for one after the other, since the end of a later one would start no other batch', async () => {
    const { service, ends, done } = startJobs();
    await settle();
    expect(service.asked).toHaveLength(3);
    expect(service.waits).toHaveLength(1);
    ends[1]?.resolve();
    await settle();
    expect(service.waits).toHaveLength(1);
    ends[0]?.resolve();
    expect(outcomes((await done).items)).toBe('cccccc');
    expect(service.waits).toHaveLength(3);
  });

  it('have no more time than if they were waited for at once', async () => {
    const { service, ends, done } = startJobs();
    await settle();
    await setTimeout(60);
    for (const { resolve } of ends) resolve();
    await done;
    const [first = 0, second = 0, third = 0] = service.waits.map(({ timeoutMs = 0 }) => timeoutMs);
    // It stands in messages.
    expect(Number.isInteger(second)).toBe(true);
    expect(second).toBeLessThan(first - 40);
    expect(third).toBeLessThan(first - 40);
  });

  it('have no limit where that is wanted', async () => {
    const { service, ends, done } = startJobs({ jobTimeoutMs: 0 });
    for (const { resolve } of ends) resolve();
    await done;
    expect(service.waits.map(({ timeoutMs }) => timeoutMs)).toEqual([0, 0, 0]);
  });

  it('are given up together when the run is aborted', async () => {
    const controller = new AbortController();
    const { done } = startJobs({ signal: controller.signal });
    await settle();
    controller.abort(new Error('enough'));
    const { error, events } = await done;
    expect(error).toMatchObject({ message: 'enough' });
    expect(lives(events).filter((life) => life.endsWith('unknown'))).toHaveLength(3);
  });
});
