import { expect, test } from 'vitest';
import { findResultColumns, ownLink } from './result-columns.ts';

const FOUR = ['code', 'short_url', 'status', 'error'];
const AT_ONE = { code: 1, short_url: 2, status: 3, error: 4 };

test('four result columns side by side win over one of the same name behind them', () => {
  expect(findResultColumns(['target_url', ...FOUR, 'code'])).toEqual(AT_ONE);
  expect(findResultColumns(['target_url', ...FOUR, 'note', 'made_for'])).toEqual({
    ...AT_ONE,
    made_for: 6,
  });
});

test('of several result columns side by side, the last ones count', () => {
  expect(findResultColumns([...FOUR, 'target_url', ...FOUR])).toMatchObject({ code: 5, error: 8 });
});

test('of several columns made_for, the last one counts', () => {
  const columns = ['made_for', 'code', 'target_url', 'short_url', 'status', 'error', 'made_for'];
  expect(findResultColumns(columns)).toMatchObject({ code: 1, made_for: 6 });
});

test('four result columns are found in any order, and three are none', () => {
  const found = findResultColumns(['error', 'target_url', 'Code', 'Status', 'Short URL']);
  expect(found).toEqual({ error: 0, code: 2, status: 3, short_url: 4 });
  expect(findResultColumns(['target_url', 'code', 'short_url', 'status'])).toEqual({});
});

test.each([
  // A spreadsheet takes such a code for a number.
  ['1e5', '100000'],
  ['0012', '12'],
  ['abc', ''],
  ['=abc', "'=abc"],
])('the code %s of a short URL counts, whatever the cell says of it: %j', (code, cell) => {
  const short_url = `https://s.example/${code}`;
  const cells = ['https://example.com', cell, short_url, 'created', ''];
  expect(ownLink({ line: 2, cells }, { resultColumns: AT_ONE })).toMatchObject({ code, short_url });
});
