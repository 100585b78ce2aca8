import { expect, test } from 'vitest';
import { StoreError, type StoreErrorReason } from '../store-error.ts';
import { Lanes } from './gate.ts';

/** Calls in lanes, which a test ends by name. */
function setUp() {
  const lanes = new Lanes();
  const running = new Map<string, (error?: Error) => void>();
  const call = (key: string, name: string, places = 1) =>
    lanes.run(
      key,
      places,
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
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { call, end, running: () => [...running.keys()] };
}

test('calls of one key wait for each other, and for no other key', async () => {
  const { call, end, running } = setUp();
  const calls = [call('a', 'a1'), call('a', 'a2'), call('b', 'b1')];
  expect(running()).toEqual(['a1', 'b1']);
  await end('a1');
  expect(running()).toEqual(['b1', 'a2']);
  await end('a2');
  await end('b1');
  expect(await Promise.all(calls)).toEqual(['a1', 'a2', 'b1']);
});

test('a lane has as many places as its calls say once one succeeded, and one again after a lock', async () => {
  const { call, end, running } = setUp();
  const outcomes = Promise.allSettled(['1', '2', '3', '4'].map((name) => call('a', name, 2)));
  expect(running()).toEqual(['1']);
  await end('1');
  expect(running()).toEqual(['2', '3']);
  await end('2', new StoreError('busy', 'locked'));
  const later = Promise.all([call('a', '5', 2), call('a', '6', 2)]);
  expect(running()).toEqual(['3']);
  await end('3', new StoreError('internal', 'failed'));
  expect(running()).toEqual(['5']);
  await end('5');
  await end('6');
  await Promise.all([outcomes, later]);
});

test.each<[StoreErrorReason, boolean]>([
  ['busy', true],
  ['unavailable', true],
  ['read_only', true],
  ['internal', false],
  ['outcome_unknown', false],
])('those that wait behind a failure with %s fail with it: %s', async (reason, together) => {
  const { call, end, running } = setUp();
  const error = new StoreError(reason, 'failed');
  const first = expect(call('a', 'a1')).rejects.toBe(error);
  const outcomes = Promise.allSettled([call('a', 'a2'), call('b', 'b1')]);
  await end('a1', error);
  await first;
  if (!together) await end('a2');
  await end('b1');
  expect(await outcomes).toMatchObject([
    { status: together ? 'rejected' : 'fulfilled' },
    { status: 'fulfilled' },
  ]);
  expect(running()).toEqual([]);
});

test('many busy lanes share a few places beside their first ones, and a lane always has its first', async () => {
  const { call, end, running } = setUp();
  const keys = ['a', 'b', 'c', 'd', 'e'];
  const names = keys.flatMap((key) => [0, 1, 2, 3].map((n) => [key, `${key}${n}`] as const));
  const outcomes = names.map(([key, name]) => call(key, name, 3));
  for (const key of keys) await end(`${key}0`);
  expect(running()).toHaveLength(keys.length + 3);
  for (const key of keys) expect(running()).toContain(`${key}1`);
  while (running().length > 0) await end(running()[0] ?? '');
  expect(await Promise.all(outcomes)).toHaveLength(20);
});
