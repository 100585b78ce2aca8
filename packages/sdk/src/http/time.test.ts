import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { delay, startTimer, within } from './time.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('delay', () => {
  it('ends after its time, and not a millisecond before', async () => {
    let ended = false;
    const waiting = delay(1500).then(() => {
      ended = true;
    });
    await vi.advanceTimersByTimeAsync(1499);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toBe(true);
    await waiting;
  });

  it('rounds up', async () => {
    let ended = false;
    void delay(0.2).then(() => {
      ended = true;
    });
    await vi.advanceTimersByTimeAsync(0);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toBe(true);
  });

  it('can be longer than setTimeout can hold', async () => {
    const days30 = 30 * 86_400_000;
    let ended = false;
    void delay(days30).then(() => {
      ended = true;
    });
    await vi.advanceTimersByTimeAsync(days30 - 1);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended).toBe(true);
  });

  it('rejects with the reason as soon as it is aborted, and leaves no timer', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const waiting = delay(1000, controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('rejects at once on a signal that is aborted already', async () => {
    await expect(delay(1000, AbortSignal.abort('gone'))).rejects.toBe('gone');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('leaves no listener on the signal', async () => {
    const { signal } = new AbortController();
    const waiting = delay(10, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(10);
    await waiting;
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

describe('startTimer', () => {
  it('can be cancelled in any of its pieces', async () => {
    const callback = vi.fn();
    const cancel = startTimer(2 ** 31 * 2, callback);
    await vi.advanceTimersByTimeAsync(2 ** 31);
    cancel();
    await vi.advanceTimersByTimeAsync(2 ** 31 * 2);
    expect(callback).not.toHaveBeenCalled();
  });
});

const late = new Error('late');
const limit = (timeoutMs: number, signal?: AbortSignal) => ({
  signal,
  timeoutMs,
  timeoutError: () => late,
});
const never = () => new Promise<never>(() => {});

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
