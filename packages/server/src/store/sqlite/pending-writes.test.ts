import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { PendingWrites } from './pending-writes.ts';
import type { WriteRequest } from './write-core.ts';

function collect() {
  const groups: WriteRequest[][] = [];
  const pending = new PendingWrites((requests) => groups.push(requests));
  const add = (count: number) => Array.from({ length: count }, () => pending.add('pruneSome', [0]));
  return { groups, pending, add };
}

test('writes of one turn go together, and in groups of 16 where there are more', async () => {
  const { groups, add } = collect();
  add(3);
  expect(groups).toHaveLength(0);
  await nextTurn();
  expect(groups.map(({ length }) => length)).toEqual([3]);
  add(40);
  expect(groups.map(({ length }) => length)).toEqual([3, 16, 16]);
  await nextTurn();
  expect(groups.map(({ length }) => length)).toEqual([3, 16, 16, 8]);
});

test('each promise gets the reply of its own write, in whatever order they come', async () => {
  const { groups, pending, add } = collect();
  const writes = add(20);
  await nextTurn();
  const ids = groups.flat().map(({ id }) => id);
  pending.settle(ids.toReversed().map((id) => ({ id, ok: true, value: id })));
  expect(await Promise.all(writes)).toEqual(ids);
  expect(pending.size).toBe(0);
});
