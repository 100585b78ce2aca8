import { describe, expect, it } from 'vitest';
import type { CreateLinkBody as BatchLinkInput } from '../wire/link.ts';
import { ItemIterator } from './create-many.ts';
import type { SettledBatch } from './results.ts';

function batch(first: number, count: number): SettledBatch<BatchLinkInput> {
  const inputs = Array.from({ length: count }, (_, i) => ({
    target_url: `https://e.io/${first + i}`,
  }));
  return { first, inputs, outcome: () => ({ outcome: 'failed', error: 'no' }) };
}

describe('ItemIterator', () => {
  it('answers calls in their order, also those made before the one before them was answered', async () => {
    async function* batches() {
      yield batch(0, 2);
      yield batch(2, 0);
      yield batch(2, 3);
    }
    const items = new ItemIterator(batches());
    const answers = await Promise.all(Array.from({ length: 7 }, () => items.next()));
    expect(answers.map(({ done, value }) => (done ? 'done' : value?.index))).toEqual([
      ...[0, 1, 2, 3, 4],
      ...['done', 'done'],
    ]);
  });

  it('hands out what is settled without a promise, and nothing that a call waits for', async () => {
    async function* batches() {
      yield batch(0, 3);
      yield batch(3, 1);
    }
    const items = new ItemIterator(batches());
    expect(items.nextSettled()).toBeUndefined();
    const first = items.next();
    expect(items.nextSettled()).toBeUndefined();
    expect(await first).toMatchObject({ value: { index: 0 } });
    expect(items.nextSettled()).toMatchObject({ index: 1 });
    expect(await items.next()).toMatchObject({ value: { index: 2 } });
    expect(items.nextSettled()).toBeUndefined();
    expect(await items.next()).toMatchObject({ value: { index: 3 } });
  });

  it('throws what its batches throw, after the items before, and is at its end then', async () => {
    async function* batches() {
      yield batch(0, 1);
      throw new Error('over');
    }
    const items = new ItemIterator(batches());
    expect(await items.next()).toMatchObject({ value: { index: 0 } });
    await expect(items.next()).rejects.toThrow('over');
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  it.each([
    ['break', async (items: ItemIterator<BatchLinkInput>) => void (await items.return())],
    ['throw', (items: ItemIterator<BatchLinkInput>) => items.throw(new Error('mine'))],
    ['await using', (items: ItemIterator<BatchLinkInput>) => items[Symbol.asyncDispose]()],
  ])('ends its batches in the middle of one on %s', async (_, leave) => {
    let ended = false;
    async function* batches() {
      try {
        yield batch(0, 5);
      } finally {
        ended = true;
      }
    }
    const items = new ItemIterator(batches());
    await items.next();
    await leave(items).catch((error: unknown) => expect(error).toEqual(new Error('mine')));
    expect(ended).toBe(true);
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  it.each(['return', 'throw'] as const)('says on %s that it is done', async (leave) => {
    async function* batches() {
      try {
        yield batch(0, 5);
      } catch {}
    }
    const items = new ItemIterator(batches());
    await items.next();
    expect(await items[leave](new Error('mine'))).toEqual({ done: true, value: undefined });
  });
});
