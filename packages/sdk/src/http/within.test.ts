import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { within } from './within.ts';

const late = new Error('late');
const limit = (timeoutMs: number, signal?: AbortSignal) => ({
  signal,
  timeoutMs,
  timeoutError: () => late,
});
const never = () => new Promise<never>(() => {});

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('within', () => {
  it('passes a result on, and leaves neither timer nor listener', async () => {
    const { signal } = new AbortController();
    await expect(within(limit(1000, signal), async () => 7)).resolves.toBe(7);
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('passes a failure on, and leaves neither timer nor listener', async () => {
    const { signal } = new AbortController();
    const failure = new Error('failure');
    await expect(within(limit(1000, signal), () => Promise.reject(failure))).rejects.toBe(failure);
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('ends at its time, and not a millisecond before, though the work does not listen', async () => {
    const onEnd = vi.fn();
    let workSignal: AbortSignal | undefined;
    within(limit(1000), (signal) => {
      workSignal = signal;
      return never();
    }).catch(onEnd);
    await vi.advanceTimersByTimeAsync(999);
    expect(onEnd).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(onEnd).toHaveBeenCalledExactlyOnceWith(late);
    expect(workSignal?.reason).toBe(late);
  });

  it('has no time limit at 0', async () => {
    void within(limit(0), never);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends with the reason of the outer signal, and leaves neither timer nor listener', async () => {
    const controller = new AbortController();
    const running = within(limit(1000, controller.signal), never);
    controller.abort('enough');
    await expect(running).rejects.toBe('enough');
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });

  it('does not begin on a signal that is aborted already', async () => {
    const work = vi.fn(never);
    await expect(within(limit(1000, AbortSignal.abort('gone')), work)).rejects.toBe('gone');
    expect(work).not.toHaveBeenCalled();
  });
});
