import process from 'node:process';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, vi } from 'vitest';
import { settle } from '../../test/fake-clock.ts';
import type { BulkSource } from './create-many.ts';
import { SourceReader } from './source-reader.ts';

/** Counts what was taken, and whether it was closed. */
function counted(length: number) {
  const seen = { taken: 0, closed: false };
  function* sync() {
    try {
      for (let i = 0; i < length; i += 1) {
        seen.taken += 1;
        yield entry(i);
      }
    } finally {
      seen.closed = true;
    }
  }
  async function* async() {
    yield* sync();
  }
  return { seen, sync, async };
}

/** Reads as a run does, without a limit of time. */
class Reader<T> extends SourceReader<T> {
  constructor(source: BulkSource<T>) {
    super(source, Number.POSITIVE_INFINITY, () => this.onChange());
  }
  onChange = () => {};

  async read(count: number): Promise<T[]> {
    while (!this.isReady(count, false)) {
      await new Promise<void>((resolve) => {
        this.onChange = resolve;
      });
    }
    return this.take(count);
  }
}

const entry = (n: number) => ({ n });

describe('SourceReader', () => {
  it.each(['sync', 'async'] as const)('reads a %s source no further than asked', async (kind) => {
    const { seen, ...sources } = counted(5);
    const reader = new Reader(sources[kind]());
    expect(seen.taken).toBe(0);
    expect(await reader.read(2)).toEqual([0, 1].map(entry));
    expect(seen.taken).toBe(2);
    expect(await reader.read(2)).toEqual([2, 3].map(entry));
    expect(await reader.read(2)).toEqual([entry(4)]);
    expect(await reader.read(2)).toEqual([]);
  });

  it.each(['sync', 'async'] as const)('closes a %s source that is not at its end', async (kind) => {
    const { seen, ...sources } = counted(5);
    const reader = new Reader(sources[kind]());
    await reader.read(1);
    await reader.close();
    expect(seen.closed).toBe(true);
    expect(await reader.read(1)).toEqual([]);
  });

  it('does not open a source only to close it', async () => {
    let opened = false;
    const source = {
      [Symbol.iterator]: () => {
        opened = true;
        return [entry(1)].values();
      },
    };
    await new Reader(source).close();
    expect(opened).toBe(false);
  });

  it.each(['throws', 'ends'])('closes nothing of a source that %s by itself', async (how) => {
    const error = new Error('unreadable');
    let closed = 0;
    const source = {
      [Symbol.iterator]: (): Iterator<object> => ({
        next: () => {
          if (how === 'throws') throw error;
          return { done: true, value: undefined };
        },
        return: () => {
          closed += 1;
          return { done: true, value: undefined };
        },
      }),
    };
    const reader = new Reader(source);
    expect(await reader.read(1)).toEqual([]);
    const failure = how === 'throws' ? { reason: error } : undefined;
    expect(reader).toMatchObject({ isDrained: true, failure });
    await reader.close();
    expect(closed).toBe(0);
  });

  it('takes a result that an async source returns at once', async () => {
    let next = 0;
    const reader = new Reader<object>({
      [Symbol.asyncIterator]: () => ({
        next: () => {
          const step = { done: next === 3, value: entry(next++) };
          return next === 2 ? Promise.resolve(step) : step;
        },
      }),
    });
    expect(await reader.read(5)).toEqual([entry(0), entry(1), entry(2)]);
    expect(reader.isDrained).toBe(true);
  });

  it('does not wait for a read that hangs when it is closed', async () => {
    let returned = false;
    const source = {
      [Symbol.asyncIterator]: (): AsyncIterator<object> => ({
        next: () => new Promise(() => undefined),
        return: () => {
          returned = true;
          return new Promise(() => undefined);
        },
      }),
    };
    const reader = new Reader(source);
    void reader.read(1);
    await reader.close();
    expect(returned).toBe(true);
  });

  const closing = (close: () => Promise<IteratorResult<object>>, isHanging: boolean) =>
    new Reader<object>({
      [Symbol.asyncIterator]: () => ({
        next: () =>
          isHanging ? new Promise<never>(() => undefined) : Promise.resolve({ value: entry(1) }),
        return: close,
      }),
    });

  it('waits until a source has closed, and rejects with what it throws then', async () => {
    let isClosed = false;
    const slow = closing(async () => {
      await settle();
      isClosed = true;
      return { done: true, value: undefined };
    }, false);
    await slow.read(1);
    await slow.close();
    expect(isClosed).toBe(true);

    const error = new Error('can not be closed');
    const failing = closing(() => Promise.reject(error), false);
    await failing.read(1);
    await expect(failing.close()).rejects.toBe(error);
  });

  it.each([
    ['its own realm', () => Promise.reject(new Error('busy'))],
    ['another realm, as streams are in Jest', () => runInNewContext('Promise.reject("busy")')],
  ])(
    'leaves no unhandled rejection when a source of %s hangs and can not be closed',
    async (_, close) => {
      const unhandled = vi.fn();
      process.on('unhandledRejection', unhandled);
      const reader = closing(close, true);
      void reader.read(1);
      await reader.close();
      await settle();
      process.off('unhandledRejection', unhandled);
      expect(unhandled).not.toHaveBeenCalled();
    },
  );

  it('ends a read under way when it is closed', async () => {
    let give = (_: IteratorResult<object>) => {};
    const source = {
      [Symbol.asyncIterator]: (): AsyncIterator<object> => ({
        next: () =>
          new Promise((resolve) => {
            give = resolve;
          }),
      }),
    };
    const reader = new Reader(source);
    const reading = reader.read(10);
    await reader.close();
    give({ done: false, value: entry(1) });
    expect(await reading).toEqual([entry(1)]);
  });

  it('leaves no timer behind when it is closed with entries that nobody took', async () => {
    vi.useFakeTimers();
    async function* source() {
      yield entry(1);
      await new Promise(() => undefined);
    }
    const reader = new SourceReader(source(), 3_600_000, () => undefined);
    reader.isReady(10, false);
    await vi.advanceTimersByTimeAsync(1);
    expect(vi.getTimerCount()).toBe(1);
    await reader.close();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('starts no timer for what a source gives after it was closed', async () => {
    vi.useFakeTimers();
    let give = (_: IteratorResult<object>) => {};
    const next = () => new Promise<IteratorResult<object>>((resolve) => (give = resolve));
    const source = { [Symbol.asyncIterator]: () => ({ next }) };
    const reader = new SourceReader(source, 3_600_000, () => undefined);
    reader.isReady(10, false);
    await reader.close();
    give({ done: false, value: entry(1) });
    await vi.advanceTimersByTimeAsync(1);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });
});
