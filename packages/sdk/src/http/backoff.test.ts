import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs } from './backoff.ts';

describe('backoffMs', () => {
  it('doubles its ceiling with each attempt up to 30 s', () => {
    const ceilings = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => backoffMs(attempt, () => 1));
    expect(ceilings).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it('never waits less than 100 ms', () => {
    expect(backoffMs(1, () => 0)).toBe(100);
    expect(backoffMs(9, () => 0)).toBe(100);
  });

  it('spreads over the whole range', () => {
    expect(backoffMs(3, () => 0.5)).toBe(1050);
  });

  it('stays within its bounds for any attempt', () => {
    const chance = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), chance, (attempt, random) => {
        const ms = backoffMs(attempt, () => random);
        expect(ms).toBeGreaterThanOrEqual(100);
        expect(ms).toBeLessThanOrEqual(30_000);
      }),
    );
  });
});
