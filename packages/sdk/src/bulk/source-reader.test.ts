import process from 'node:process';
import { describe, expect, it, vi } from 'vitest';
import { settle } from '../../test/fake-clock.ts';
import { SourceReader } from './source-reader.ts';

/** Counts what was taken, and whether it was closed. */
function counted(length: number) {
  const seen = { taken: 0, closed: false };
  function* sync() {
    try {
      for (let i = 0; i < length; i += 1) {
        seen.taken += 1;
        yield i;
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

describe('SourceReader', () => {
  it.each(['sync', 'async'] as const)('reads a %s source no further than asked', async (kind) => {
    const { seen, ...sources } = counted(5);
    const reader = new SourceReader(sources[kind]());
    expect(seen.taken).toBe(0);
    expect(await reader.read(2)).toEqual([0, 1]);
    expect(seen.taken).toBe(2);
    expect(await reader.read(2)).toEqual([2, 3]);
    expect(await reader.read(2)).toEqual([4]);
    expect(await reader.read(2)).toEqual([]);
  });

  it.each(['sync', 'async'] as const)('closes a %s source that is not at its end', async (kind) => {
    const { seen, ...sources } = counted(5);
    const reader = new SourceReader(sources[kind]());
    await reader.read(1);
    await reader.close();
    expect(seen.closed).toBe(true);
    expect(await reader.read(1)).toEqual([]);
  });

  it('reads an async source that answers without promises', async () => {
    const steps = [1, 2, 3];
    const reader = new SourceReader({
      [Symbol.asyncIterator]: () => ({
        next: () => {
          const value = steps.shift();
          const step = value === undefined ? { done: true as const, value } : { value };
          return steps.length === 1 ? Promise.resolve(step) : step;
        },
      }),
    });
    expect(await reader.read(2)).toEqual([1, 2]);
    expect(await reader.read(2)).toEqual([3]);
  });

  it('does not open a source only to close it', async () => {
    let opened = false;
    const source = {
      [Symbol.iterator]: () => {
        opened = true;
        return [1].values();
      },
    };
    await new SourceReader(source).close();
    expect(opened).toBe(false);
  });

  it('rejects with what the source throws, and closes nothing then', async () => {
    const error = new Error('unreadable');
    let closed = 0;
    const source = {
      [Symbol.iterator]: (): Iterator<number> => ({
        next: () => {
          throw error;
        },
        return: () => {
          closed += 1;
          return { done: true, value: undefined };
        },
      }),
    };
    const reader = new SourceReader(source);
    await expect(reader.read(1)).rejects.toBe(error);
    await reader.close();
    expect(closed).toBe(0);
  });

  it('does not wait for a read that hangs when it is closed', async () => {
    let returned = false;
    const source = {
      [Symbol.asyncIterator]: (): AsyncIterator<number> => ({
        next: () => new Promise(() => undefined),
        return: () => {
          returned = true;
          return new Promise(() => undefined);
        },
      }),
    };
    const reader = new SourceReader(source);
    void reader.read(1);
    await reader.close();
    expect(returned).toBe(true);
  });

  const closing = (close: () => Promise<IteratorResult<number>>, isHanging: boolean) =>
    new SourceReader<number>({
      [Symbol.asyncIterator]: () => ({
        next: () =>
          isHanging ? new Promise<never>(() => undefined) : Promise.resolve({ value: 1 }),
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

  it('leaves no unhandled rejection when a source that hangs can not be closed', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const reader = closing(() => Promise.reject(new Error('busy')), true);
    void reader.read(1);
    await reader.close();
    await settle();
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('ends a read under way when it is closed', async () => {
    let give = (_: IteratorResult<number>) => {};
    const source = {
      [Symbol.asyncIterator]: (): AsyncIterator<number> => ({
        next: () =>
          new Promise((resolve) => {
            give = resolve;
          }),
      }),
    };
    const reader = new SourceReader(source);
    const reading = reader.read(10);
    await reader.close();
    give({ done: false, value: 1 });
    expect(await reading).toEqual([1]);
  });
});
