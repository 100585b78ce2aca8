import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RowSet } from './row-set.ts';

test('holds what was added, and nothing else', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(40_000)), fc.array(fc.nat(40_000)), (added, asked) => {
      const rows = new RowSet();
      for (const row of added) rows.add(row);
      for (const row of [...added, ...asked]) expect(rows.has(row)).toBe(added.includes(row));
    }),
  );
});
