import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Gate, gateForEach } from './gate.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Calls through a gate, with what is running now. */
function setUp(slots: number, maxWaiting?: number) {
  const gate = new Gate({ slots, maxWaiting, busy: (reason) => new Error(`busy: ${reason}`) });
  const running = new Map<string, (error?: Error) => void>();
  const call = (name: string) =>
    gate.run(
      () =>
        new Promise<string>((resolve, reject) => {
          running.set(name, (error) => {
            running.delete(name);
            if (error === undefined) resolve(name);
            else reject(error);
          });
        }),
    );
  const end = async (name: string, error?: Error) => {
    running.get(name)?.(error);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { gate, call, end, running: () => [...running.keys()] };
}

test('so many calls run at a time; the others follow in the order they came', async () => {
  const { call, end, running } = setUp(2);
  const calls = ['a', 'b', 'c', 'd'].map(call);
  expect(running()).toEqual(['a', 'b']);
  await end('b');
  expect(running()).toEqual(['a', 'c']);
  await end('a');
  await end('c');
  await end('d');
  expect(await Promise.all(calls)).toEqual(['a', 'b', 'c', 'd']);
  expect(vi.getTimerCount()).toBe(0);
});

test('calls that wait begin as soon as there are more slots', async () => {
  const { gate, call, running } = setUp(1);
  for (const name of ['a', 'b', 'c']) call(name);
  gate.resize(2);
  await vi.advanceTimersByTimeAsync(0);
  expect(running()).toEqual(['a', 'b']);
});

test('calls of a key wait for each other alone, and a key that nobody uses is forgotten', async () => {
  const inGate = gateForEach({ slots: 1, busy: (reason) => new Error(reason) });
  const seen: Gate[] = [];
  const ends = new Map<string, () => void>();
  const call = (key: string, name: string) =>
    inGate(key, (gate) => {
      seen.push(gate);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const [first, second] = [call('x', 'a'), call('x', 'b')];
  call('y', 'other');
  expect([...ends.keys()]).toEqual(['a', 'other']);
  ends.get('a')?.();
  await first;
  const third = call('x', 'c');
  await vi.advanceTimersByTimeAsync(0);
  expect([...ends.keys()]).toEqual(['a', 'other', 'b']);
  ends.get('b')?.();
  await second;
  await vi.advanceTimersByTimeAsync(0);
  ends.get('c')?.();
  await third;
  call('x', 'd');
  const [one, , again, , last] = seen;
  expect(again).toBe(one);
  expect(last).not.toBe(one);
});

test('calls that were rejected together do not forget the gate of one that came since', async () => {
  const inGate = gateForEach({ slots: 1, busy: (reason) => new Error(reason) });
  const hang = () => inGate('x', () => new Promise(() => {}));
  const first = inGate('x', async (gate) => {
    await undefined;
    gate.rejectWaiting(new Error('locked'));
  });
  const second = inGate('x', async () => undefined);
  void first.then(hang);
  await expect(second).rejects.toThrow('locked');
  const late = vi.fn<() => Promise<void>>();
  inGate('x', late).catch(() => undefined);
  await vi.advanceTimersByTimeAsync(0);
  expect(late).not.toHaveBeenCalled();
});

test('a call that fails frees its slot', async () => {
  const { call, end, running } = setUp(1);
  const failed = expect(call('a')).rejects.toThrow('lost');
  call('b');
  await end('a', new Error('lost'));
  await failed;
  expect(running()).toEqual(['b']);
});

test('a call waits ten seconds, is then refused, and takes no slot later', async () => {
  const { call, end, running } = setUp(1);
  call('a');
  const refused = expect(call('b')).rejects.toThrow('busy');
  await vi.advanceTimersByTimeAsync(10_000);
  await refused;
  const next = call('c');
  await end('a');
  expect(running()).toEqual(['c']);
  await end('c');
  expect(await next).toBe('c');
  call('d');
  expect(running()).toEqual(['d']);
});

test('so many calls may wait; one more is refused at once', async () => {
  const { call, end } = setUp(1, 2);
  const calls = ['a', 'b', 'c'].map(call);
  await expect(call('d')).rejects.toThrow('busy');
  for (const name of ['a', 'b', 'c']) await end(name);
  expect(await Promise.all(calls)).toEqual(['a', 'b', 'c']);
});

test('calls that wait can be rejected together; those that come later take their turns', async () => {
  const { gate, call, end, running } = setUp(1);
  const first = call('a');
  const waiting = ['b', 'c'].map((name) => expect(call(name)).rejects.toThrow('locked'));
  gate.rejectWaiting(new Error('locked'));
  await Promise.all(waiting);
  const next = call('d');
  await end('a');
  expect(running()).toEqual(['d']);
  await end('d');
  expect(await Promise.all([first, next])).toEqual(['a', 'd']);
  expect(gate.isIdle).toBe(true);
});
