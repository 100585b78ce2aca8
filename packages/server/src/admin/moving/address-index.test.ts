import { expect, test } from 'vitest';
import { AddressIndex } from './address-index.ts';

test('finds each address that has another target in an earlier row, and no other, among many', () => {
  const index = new AddressIndex();
  const addresses = 200_000;
  const add = (row: number, target: number, later = 0) =>
    index.add(`/${row.toString(36)}`, `https://example.com/${target}`, row + later);
  const wrong: number[] = [];
  for (let row = 1; row <= addresses; row += 1) {
    if (add(row, row % 7) !== undefined) wrong.push(row);
  }
  for (let row = 1; row <= addresses; row += 1) {
    if (add(row, row % 7, addresses) !== undefined) wrong.push(row);
    if (add(row, 8, addresses) !== row) wrong.push(row);
  }
  expect(wrong).toEqual([]);
});
