import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { InstantClock } from '../../test/fake-clock.ts';
import { loadPart } from './load-part.ts';

const LIMITS = { signal: undefined, timeoutMs: 0, maxRetries: 2 };
const makeParts = () => ({ clock: new InstantClock(), random: () => 1 });

/** A load that fails as often as it is told to, as a page's does that is offline for a while. */
function flaky(failures: number) {
  const load = async () => {
    load.calls += 1;
    if (load.calls <= failures) throw new TypeError('Failed to fetch the module');
    return 'loaded';
  };
  load.calls = 0;
  return load;
}

describe('loadPart', () => {
  it('loads once where all is well', async () => {
    const parts = makeParts();
    const load = flaky(0);
    expect(await loadPart(load, LIMITS, parts)).toBe('loaded');
    expect(load.calls).toBe(1);
    expect(parts.clock.delays).toEqual([]);
  });

  it('loads again after a failure, with the waits of a request', async () => {
    const parts = makeParts();
    expect(await loadPart(flaky(2), LIMITS, parts)).toBe('loaded');
    expect(parts.clock.delays).toEqual([500, 1000]);
  });

  it('says that nothing was sent when the retries are used up', async () => {
    const load = flaky(3);
    await expect(loadPart(load, LIMITS, makeParts())).rejects.toMatchObject({
      name: 'ConnectionError',
      outcome: 'not-sent',
      message: 'A part of the client could not be loaded: TypeError: Failed to fetch the module',
      cause: expect.any(TypeError),
    });
    expect(load.calls).toBe(3);
  });

  it('gives up a load that hangs, and tries again', async () => {
    let calls = 0;
    const load = () => {
      calls += 1;
      return calls < 3 ? new Promise<string>(() => undefined) : Promise.resolve('loaded');
    };
    expect(await loadPart(load, { ...LIMITS, timeoutMs: 5 }, makeParts())).toBe('loaded');
    calls = 0;
    const limits = { ...LIMITS, timeoutMs: 5, maxRetries: 1 };
    await expect(loadPart(load, limits, makeParts())).rejects.toMatchObject({
      name: 'TimeoutError',
      outcome: 'not-sent',
      timeoutMs: 5,
    });
  });

  it('ends at once on abort, and leaves no listener', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const load = () => new Promise<string>(() => undefined);
    const loading = loadPart(load, { ...LIMITS, signal }, makeParts());
    controller.abort('enough');
    await expect(loading).rejects.toBe('enough');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
