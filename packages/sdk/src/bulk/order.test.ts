import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OrderBuffer } from './order.ts';

const batch = (first: number, count: number) => ({ first, inputs: { length: count } });

describe('OrderBuffer', () => {
  it('waits for the batch whose turn it is', () => {
    const buffer = new OrderBuffer();
    buffer.put(batch(2, 3));
    expect(buffer.take()).toBeUndefined();
    buffer.put(batch(0, 2));
    expect(buffer.take()?.first).toBe(0);
    expect(buffer.take()?.first).toBe(2);
    expect(buffer.take()).toBeUndefined();
  });

  it('passes over what is missing once it is closed', () => {
    const buffer = new OrderBuffer();
    buffer.put(batch(9, 1));
    buffer.put(batch(5, 2));
    buffer.isClosed = true;
    expect([buffer.take()?.first, buffer.take()?.first, buffer.take()]).toEqual([5, 9, undefined]);
  });

  it('gives every batch back in order, whatever order they come in', () => {
    const counts = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 30 });
    const arrivals = counts.chain((sizes) => {
      let first = 0;
      const batches = sizes.map((count) => {
        const placed = batch(first, count);
        first += count;
        return placed;
      });
      const shuffled = fc.shuffledSubarray(batches, { minLength: batches.length });
      return fc.record({ batches: fc.constant(batches), shuffled });
    });
    fc.assert(
      fc.property(arrivals, ({ batches, shuffled }) => {
        const buffer = new OrderBuffer();
        const taken: unknown[] = [];
        for (const placed of shuffled) {
          buffer.put(placed);
          for (let next = buffer.take(); next !== undefined; next = buffer.take()) taken.push(next);
        }
        expect(taken).toEqual(batches);
      }),
    );
  });
});
