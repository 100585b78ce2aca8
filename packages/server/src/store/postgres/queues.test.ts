import { expect, test } from 'vitest';
import { StoreError, type StoreErrorReason } from '../store-error.ts';
import { Queues } from './queues.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Calls in queues. A test ends the runs, the oldest first. */
function setUp(most = 100) {
  const runs: { inputs: readonly number[]; end: (error?: Error) => void }[] = [];
  const queues = new Queues();
  const run = (inputs: readonly number[]) =>
    new Promise<string[]>((resolve, reject) => {
      const end = (error = failureOf(inputs)) =>
        error === undefined ? resolve(inputs.map((input) => `<${input}>`)) : reject(error);
      runs.push({ inputs: [...inputs], end });
    });
  let ended = 0;
  return {
    together: (key: string, input: number, group = key) =>
      queues.runTogether(key, { group, most, run }, input),
    alone: (key: string, input: number) => queues.run(key, () => run([input])),
    inputs: async () => {
      await turn();
      return runs.map(({ inputs }) => inputs);
    },
    end: async (error?: Error) => {
      await turn();
      runs[ended]?.end(error);
      ended += 1;
      await turn();
    },
  };
}

/** A run with input 0 fails. */
function failureOf(inputs: readonly number[]): Error | undefined {
  return inputs.includes(0) ? new StoreError('invalid', 'zero') : undefined;
}

test('a call runs at once; those that come meanwhile run as one after it, in order', async () => {
  const { together, inputs, end } = setUp();
  const calls = [together('a', 1)];
  expect(await inputs()).toEqual([[1]]);
  calls.push(together('a', 2), together('a', 3));
  expect(await inputs()).toEqual([[1]]);
  await end();
  expect(await inputs()).toEqual([[1], [2, 3]]);
  await end();
  expect(await Promise.all(calls)).toEqual(['<1>', '<2>', '<3>']);
});

test('calls of one queue follow each other, also those that can not share a run; other queues do not wait', async () => {
  const { together, alone, inputs, end } = setUp();
  const calls = [alone('a', 1), together('a', 2), together('a', 3, 'other'), together('a', 4)];
  calls.push(together('b', 5));
  expect(await inputs()).toEqual([[1], [5]]);
  await end();
  expect(await inputs()).toEqual([[1], [5], [2, 4]]);
  await end();
  await end();
  expect(await inputs()).toEqual([[1], [5], [2, 4], [3]]);
  await end();
  expect((await Promise.all(calls)).slice(1)).toEqual(['<2>', '<3>', '<4>', '<5>']);
});

test('a run is bounded', async () => {
  const { together, inputs, end } = setUp(2);
  for (const input of [1, 2, 3, 4, 5]) together('a', input);
  for (let run = 0; run < 3; run += 1) await end();
  expect(await inputs()).toEqual([[1, 2], [3, 4], [5]]);
});

test('when a run fails because of one of its calls, each is run alone, and that one fails', async () => {
  const { together, inputs, end } = setUp();
  const calls = Promise.allSettled([2, 0, 3].map((input) => together('a', input)));
  for (let run = 0; run < 4; run += 1) await end();
  expect(await inputs()).toEqual([[2, 0, 3], [2], [0], [3]]);
  expect((await calls).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test.each<[StoreErrorReason, boolean]>([
  ['busy', true],
  ['unavailable', true],
  ['read_only', true],
  ['internal', false],
  ['outcome_unknown', false],
])('those that wait behind a failure with %s fail with it: %s', async (reason, fails) => {
  const { together, alone, end } = setUp();
  const error = new StoreError(reason, 'failed');
  const first = expect(alone('a', 1)).rejects.toBe(error);
  const outcomes = Promise.allSettled([together('a', 2), together('b', 3)]);
  await end(error);
  await first;
  await end();
  if (!fails) await end();
  expect(await outcomes).toMatchObject([
    { status: fails ? 'rejected' : 'fulfilled' },
    { status: 'fulfilled' },
  ]);
  const next = together('a', 4);
  await end();
  expect(await next).toBe('<4>');
});
