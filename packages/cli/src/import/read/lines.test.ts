import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvCell } from '../report/csv-cell.ts';
import { PlainRow } from './lines.ts';

const text = fc.string({
  unit: fc.constantFrom('a', ',', ';', '|', '=', '-', '7', ' ', '\t', '＝', 'é'),
});

test('a row that is taken as it is would be written just so', () => {
  let taken = 0;
  fc.assert(
    fc.property(
      text,
      fc.constantFrom(',', ';', '\t', '|'),
      fc.integer({ min: 1, max: 4 }),
      (line, delimiter, width) => {
        const row = new PlainRow(1, { text: `x${line}\n${line}`, delimiter }, 1, 1 + line.length);
        const csv = row.asCsv(width, delimiter);
        if (csv === undefined) return;
        taken += 1;
        expect(csv).toBe(row.cells.map((cell) => csvCell(cell, delimiter)).join(delimiter));
      },
    ),
    { numRuns: 1000 },
  );
  expect(taken).toBeGreaterThan(50);
});
