import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchPlan } from './order.ts';
import type { BatchRecord } from './types.ts';

const planned = (first: number, count: number): BatchRecord => ({ first, count, state: 'planned' });

/** The ranges a source of `total` links is cut into. */
function cut(plan: BatchPlan, total: number, batchSize: number): string[] {
  const ranges: string[] = [];
  for (let left = total; left > 0; ) {
    const range = plan.next(batchSize);
    const count = Math.min(range.count, left);
    plan.advance(range, count);
    left -= count;
    ranges.push(`${range.first}+${count}${range.record === undefined ? '' : ' recorded'}`);
  }
  return ranges;
}

describe('BatchPlan', () => {
  it('cuts a source into batches of one size, the last one smaller', () => {
    expect(cut(new BatchPlan([]), 7, 3)).toEqual(['0+3', '3+3', '6+1']);
  });

  it('keeps recorded ranges whole, and cuts what lies between them', () => {
    const plan = new BatchPlan([planned(9, 5), planned(0, 2)]);
    expect(cut(plan, 16, 3)).toEqual(['0+2 recorded', '2+3', '5+3', '8+1', '9+5 recorded', '14+2']);
    expect(() => plan.end()).not.toThrow();
  });

  it.each([
    [-1, 1],
    [0.5, 1],
    [0, 0],
    [0, 1.5],
  ])('refuses first %d with count %d, which is no range', (first, count) => {
    expect(() => new BatchPlan([planned(first, count)])).toThrow(
      `one has first ${first} and count ${count}`,
    );
  });

  it('follows a batch size that changes', () => {
    const plan = new BatchPlan([]);
    plan.advance(plan.next(10), 10);
    expect(plan.next(4)).toEqual({ first: 10, count: 4 });
  });

  it('refuses overlaps, in whatever order they come', () => {
    expect(() => new BatchPlan([planned(4, 2), planned(0, 5)])).toThrow(/overlap/);
    expect(() => new BatchPlan([planned(0, 5), planned(5, 1)])).not.toThrow();
  });

  it('refuses a source that ends inside a record or before one', () => {
    const inside = new BatchPlan([planned(0, 5)]);
    inside.advance(inside.next(10), 4);
    expect(() => inside.end()).toThrow(/ended after 4/);
    const before = new BatchPlan([planned(8, 1)]);
    before.advance(before.next(10), 3);
    expect(() => before.end()).toThrow(/up to 9, but the source ended after 3/);
  });

  it('covers every link exactly once, whatever was recorded', () => {
    const gaps = fc.array(fc.record({ gap: fc.nat(20), count: fc.integer({ min: 1, max: 20 }) }), {
      maxLength: 10,
    });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 1, max: 12 }), fc.nat(40), (list, batchSize, tail) => {
        let end = 0;
        const records = list.map(({ gap, count }) => {
          const record = planned(end + gap, count);
          end = record.first + count;
          return record;
        });
        const plan = new BatchPlan(records.toReversed());
        let position = 0;
        while (position < end + tail) {
          const { first, count, record } = plan.next(batchSize);
          expect(first).toBe(position);
          if (record === undefined) expect(count).toBeLessThanOrEqual(batchSize);
          else expect({ first, count }).toEqual({ first: record.first, count: record.count });
          plan.advance({ first, count, record }, count);
          position += count;
        }
        plan.end();
      }),
    );
  });
});
