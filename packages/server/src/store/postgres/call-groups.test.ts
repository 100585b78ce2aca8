import { expect, test } from 'vitest';
import { CallGroups } from './call-groups.ts';

/** Groups whose runs a test ends, one after the other. */
function setUp(most = 100) {
  const runs: { inputs: readonly number[]; end: (error?: Error) => void }[] = [];
  const groups = new CallGroups<number, string>(
    (inputs) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) =>
          error === undefined ? resolve(inputs.map(outcomeOf)) : reject(error);
        runs.push({ inputs, end });
      }),
    most,
  );
  const inputs = () => runs.map((run) => run.inputs);
  const end = async (error?: Error) => {
    runs.at(-1)?.end(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { groups, inputs, end };
}

/** Input 0 fails, whatever becomes of the others. */
function outcomeOf(input: number): PromiseSettledResult<string> {
  if (input === 0) return { status: 'rejected', reason: new Error('zero') };
  return { status: 'fulfilled', value: `<${input}>` };
}

test('the first call runs at once; those that come meanwhile run as one after it, in order', async () => {
  const { groups, inputs, end } = setUp();
  const calls = [1, 2, 3].map((input) => groups.submit('a', input));
  expect(inputs()).toEqual([[1]]);
  await end();
  expect(inputs()).toEqual([[1], [2, 3]]);
  await end();
  expect(await Promise.all(calls)).toEqual(['<1>', '<2>', '<3>']);
});

test('other keys do not wait', () => {
  const { groups, inputs } = setUp();
  groups.submit('a', 1);
  groups.submit('b', 2);
  expect(inputs()).toEqual([[1], [2]]);
});

test('a group is bounded', async () => {
  const { groups, inputs, end } = setUp(2);
  for (const input of [1, 2, 3, 4]) groups.submit('a', input);
  await end();
  await end();
  expect(inputs()).toEqual([[1], [2, 3], [4]]);
});

test('a group that fails fails its calls, and no others', async () => {
  const { groups, end } = setUp();
  const first = groups.submit('a', 1);
  const second = groups.submit('a', 2);
  const failed = expect(first).rejects.toThrow('lost');
  await end(new Error('lost'));
  await failed;
  await end();
  expect(await second).toBe('<2>');
});

test('each call of a group has its own outcome', async () => {
  const { groups, end } = setUp();
  groups.submit('a', 1);
  const calls = Promise.allSettled([2, 0, 3].map((input) => groups.submit('a', input)));
  await end();
  await end();
  expect((await calls).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('when all has been run, the next call runs at once again', async () => {
  const { groups, inputs, end } = setUp();
  groups.submit('a', 1);
  await end();
  groups.submit('a', 2);
  expect(inputs()).toEqual([[1], [2]]);
});
