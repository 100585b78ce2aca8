import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvCell, dropFormulaGuard } from './csv-cell.ts';
import { PlainRow } from './lines.ts';
import { CsvReader } from './read-csv.ts';

test.each([
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\nlines', '"two\nlines"'],
  ['=1+1', "'=1+1"],
  ['+cmd|x', "'+cmd|x"],
  ['-2+3', "'-2+3"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['\r=1', `"'\r=1"`],
  ['＝1', "'＝1"],
  ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
  ['-5', '-5'],
  ['+49,5', '"+49,5"'],
  ["'quoted", "'quoted"],
])('%j becomes %j', (cell, written) => {
  expect(csvCell(cell)).toBe(written);
});

test('whatever the cells are, the row reads back', () => {
  const cell = fc.string({ unit: fc.constantFrom('=', '-', 'a', ',', '"', '\n', '\r', ' ', 'ü') });
  fc.assert(
    fc.property(fc.array(cell, { minLength: 1, maxLength: 5 }), (cells) => {
      fc.pre(cells.some((text) => text.trim() !== ''));
      const reader = new CsvReader({ delimiter: ',', name: '' });
      const rows = [
        ...reader.push(`${cells.map((cell) => csvCell(cell)).join(',')}\n`),
        ...reader.end(),
      ];
      const guarded = (text: string) => dropFormulaGuard(text);
      expect(rows.map((row) => row.cells.map(guarded))).toEqual([cells]);
      for (const text of rows[0]?.cells ?? []) expect(text).not.toMatch(/^[=@\t\r]/);
    }),
  );
});

test('a row that is taken as it is would be written just so', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', ',', ';', '|', '=', '-', '7', ' ', '\t', '＝', 'é'),
  });
  let taken = 0;
  fc.assert(
    fc.property(
      text,
      fc.constantFrom(',', ';', '\t', '|'),
      fc.integer({ min: 1, max: 4 }),
      (line, delimiter, width) => {
        const row = new PlainRow(1, `x${line}\n${line}`, 1, 1 + line.length, delimiter);
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
