import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ClickWrite } from '../store/store.ts';
import {
  CLICK_FLUSH_MS,
  type ClickBufferOptions,
  clickBuffer,
  MAX_BUFFERED_CODES,
} from './click-buffer.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp() {
  const written = new Map<string, number>();
  const writes: number[] = [];
  const logged: object[] = [];
  const store: ClickBufferOptions['store'] = {
    addClicks: async (clicks) => {
      writes.push(clicks.size);
      for (const [code, count] of clicks) written.set(code, (written.get(code) ?? 0) + count);
    },
  };
  const log = (fields: object, msg?: string) => logged.push({ ...fields, msg });
  const logger = { error: log, info: log };
  return { written, writes, logged, store, buffer: clickBuffer({ store, logger }) };
}

test('clicks are written together, with time left for the write before half a second is over', async () => {
  const { buffer, written, writes } = setUp();
  buffer.add('a');
  buffer.add('a');
  await vi.advanceTimersByTimeAsync(CLICK_FLUSH_MS - 1);
  buffer.add('b');
  expect(writes).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(written).toEqual(
    new Map([
      ['a', 2],
      ['b', 1],
    ]),
  );
  expect(writes).toEqual([2]);
  expect(CLICK_FLUSH_MS).toBeLessThanOrEqual(100);
});

test('each write says when it is made, since the store forgets those that are long past', async () => {
  const made: ClickWrite[] = [];
  const addClicks = async (_: unknown, write: ClickWrite) => void made.push(write);
  const buffer = clickBuffer({ store: { addClicks }, now: () => 5 });
  buffer.add('a');
  await buffer.flush();
  expect(made).toMatchObject([{ number: 1, now: 5 }]);
});

test('a click that finds every flush at work is written after them, without another click', async () => {
  const written: string[] = [];
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const addClicks = async (clicks: ReadonlyMap<string, number>) => {
    await held;
    written.push(...clicks.keys());
  };
  const buffer = clickBuffer({ store: { addClicks } });
  for (const code of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
    buffer.add(code);
    await vi.advanceTimersByTimeAsync(CLICK_FLUSH_MS);
  }
  release();
  await vi.advanceTimersByTimeAsync(CLICK_FLUSH_MS);
  expect(written).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
});

test('without clicks nothing is written', async () => {
  const { buffer, writes } = setUp();
  await vi.advanceTimersByTimeAsync(10_000);
  await buffer.flush();
  await buffer.stop();
  expect(writes).toEqual([]);
});

test('many codes are written in steps that others can come between', async () => {
  const { buffer, writes } = setUp();
  for (let n = 0; n < 4_200; n += 1) buffer.add(`code ${n}`);
  await buffer.flush();
  expect(writes).toEqual([2_000, 2_000, 200]);
});

test('clicks of a failed write are kept, and none is counted twice', async () => {
  const { buffer, written, store, logged } = setUp();
  const { addClicks } = store;
  let calls = 0;
  store.addClicks = (clicks, write) => {
    calls += 1;
    return calls === 2 ? Promise.reject(new Error('full')) : addClicks(clicks, write);
  };
  for (let n = 0; n < 4_200; n += 1) buffer.add(`code ${n}`);
  expect(await buffer.flush()).toBe(false);
  expect(logged).toHaveLength(1);
  buffer.add('code 0');
  buffer.add('code 4199');
  await vi.advanceTimersByTimeAsync(CLICK_FLUSH_MS);
  expect(written.size).toBe(4_200);
  expect(written.get('code 0')).toBe(2);
  expect(written.get('code 4199')).toBe(2);
  expect([...written.values()].reduce((sum, count) => sum + count)).toBe(4_202);
});

test('a click during a write is in the next one', async () => {
  const { buffer, written, store } = setUp();
  const { addClicks } = store;
  store.addClicks = async (clicks, write) => {
    if (!written.has('late')) buffer.add('late');
    await addClicks(clicks, write);
  };
  buffer.add('a');
  await buffer.flush();
  expect(written).toEqual(new Map([['a', 1]]));
  await vi.advanceTimersByTimeAsync(CLICK_FLUSH_MS);
  expect(written.get('late')).toBe(1);
  await buffer.stop();
});

test('clicks do not wait for a write that takes long, nor is more than a few writes under way', async () => {
  const { buffer, store } = setUp();
  const started: string[][] = [];
  const numbers: string[] = [];
  let end = () => {};
  const slow = new Promise<void>((resolve) => {
    end = resolve;
  });
  store.addClicks = (clicks, { writer, number }) => {
    started.push([...clicks.keys()]);
    numbers.push(`${writer} ${number}`);
    return slow;
  };
  for (const code of 'abcdefgh') {
    buffer.add(code);
    await vi.advanceTimersByTimeAsync(CLICK_FLUSH_MS);
  }
  expect(started).toEqual([['a'], ['b'], ['c'], ['d'], ['e'], ['f']]);
  end();
  await buffer.stop();
  expect(started.slice(6).flat()).toEqual(['g', 'h']);
  // Each series counts for itself.
  expect(new Set(numbers).size).toBe(started.length);
  expect(vi.getTimerCount()).toBe(0);
});

test('on a disk whose commits take long and are shared with other writes, each click is written once, within two commits', async () => {
  const commitMs = 250;
  const { buffer, store } = setUp();
  let waiting: (() => void)[] = [];
  let isCommitting = false;
  // One commit at a time, as on SQLite: what arrives meanwhile shares the next one.
  const durable = () =>
    new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (!isCommitting) commit();
    });
  const commit = () => {
    isCommitting = waiting.length > 0;
    if (!isCommitting) return;
    const group = waiting;
    waiting = [];
    setTimeout(() => {
      for (const resolve of group) resolve();
      commit();
    }, commitMs);
  };
  const clickedAt = new Map<string, number>();
  const waits = new Map<string, number[]>();
  store.addClicks = async (clicks) => {
    await durable();
    for (const [code, count] of clicks) {
      const wait = Date.now() - (clickedAt.get(code) ?? 0);
      waits.set(code, [...(waits.get(code) ?? []), ...Array<number>(count).fill(wait)]);
    }
  };
  for (let n = 0; n < 500; n += 1) {
    clickedAt.set(`code ${n}`, Date.now());
    buffer.add(`code ${n}`);
    if (n % 2 === 0) void durable();
    await vi.advanceTimersByTimeAsync(7);
  }
  await vi.advanceTimersByTimeAsync(10 * commitMs);
  await buffer.stop();
  expect(waits.size).toBe(500);
  expect([...waits.values()].filter((times) => times.length !== 1)).toEqual([]);
  expect(Math.max(...[...waits.values()].flat())).toBeLessThanOrEqual(
    CLICK_FLUSH_MS + 2 * commitMs,
  );
});

test('a write that failed is repeated as it was, before others of its series', async () => {
  const { buffer, store } = setUp();
  const calls: [clicks: [string, number][], write: ClickWrite][] = [];
  store.addClicks = async (clicks, write) => {
    calls.push([[...clicks], write]);
    if (calls.length === 1) throw new Error('the outcome is not known');
  };
  buffer.add('a');
  expect(await buffer.flush()).toBe(false);
  buffer.add('a');
  expect(await buffer.flush()).toBe(true);
  const [first, ...later] = calls;
  const repeated = later.find(([, { writer }]) => writer === first?.[1].writer);
  expect(repeated).toEqual(first);
  expect(later.map(([clicks]) => clicks)).toEqual([[['a', 1]], [['a', 1]]]);
  buffer.add('b');
  await buffer.stop();
  expect(calls.at(-1)?.[1]).toMatchObject({ writer: first?.[1].writer, number: 2 });
});

test('stop writes the last clicks, also those that wait for a write that runs', async () => {
  const { buffer, written, store } = setUp();
  const { addClicks } = store;
  store.addClicks = async (clicks, write) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    await addClicks(clicks, write);
  };
  buffer.add('a');
  const running = buffer.flush();
  buffer.add('b');
  const stopping = buffer.stop();
  await vi.advanceTimersByTimeAsync(100);
  await Promise.all([running, stopping]);
  expect(written).toEqual(
    new Map([
      ['a', 1],
      ['b', 1],
    ]),
  );
  expect(vi.getTimerCount()).toBe(0);
});

test('an outage is logged when it begins, once a minute, and when it ends', async () => {
  const { buffer, store, logged } = setUp();
  const { addClicks } = store;
  store.addClicks = () => Promise.reject(new Error('away'));
  buffer.add('a');
  await vi.advanceTimersByTimeAsync(59_999);
  expect(logged).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(180_000);
  expect(logged).toHaveLength(4);
  store.addClicks = addClicks;
  await vi.advanceTimersByTimeAsync(CLICK_FLUSH_MS);
  expect(logged.slice(4)).toMatchObject([{ msg: 'writing clicks works again' }]);
  buffer.add('b');
  await vi.advanceTimersByTimeAsync(CLICK_FLUSH_MS);
  expect(logged).toHaveLength(5);
  await buffer.stop();
});

test('stop gives up when the store stays broken, and says what is lost', async () => {
  const { buffer, store, logged } = setUp();
  store.addClicks = () => Promise.reject(new Error('full'));
  buffer.add('a');
  buffer.add('a');
  buffer.add('b');
  await buffer.stop();
  expect(logged.at(-1)).toMatchObject({ lost: 3 });
  expect(vi.getTimerCount()).toBe(0);
});

test('while nothing can be written, codes are kept up to a bound, and dropped clicks are counted', async () => {
  let dropped = 0;
  let broken = true;
  const written = new Map<string, number>();
  const store = {
    addClicks: async (clicks: ReadonlyMap<string, number>) => {
      if (broken) throw new Error('disk full');
      for (const [code, count] of clicks) written.set(code, count);
    },
  };
  const onDropped = (clicks: number) => {
    dropped += clicks;
  };
  const buffer = clickBuffer({ store, onDropped });
  for (let n = 0; n < MAX_BUFFERED_CODES; n += 1) buffer.add(`code ${n}`);
  buffer.add('one too many');
  buffer.add('code 0');
  await vi.advanceTimersByTimeAsync(CLICK_FLUSH_MS);
  buffer.add('one too many');
  expect(dropped).toBe(2);
  broken = false;
  await buffer.flush();
  expect(written.size).toBe(MAX_BUFFERED_CODES);
  expect(written.get('code 0')).toBe(2);
  // So are those that are given up at the end.
  broken = true;
  buffer.add('last');
  await buffer.stop();
  expect(dropped).toBe(3);
});
