import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { delay, startTimer } from './delay.ts';

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
