import { expect, test } from 'vitest';
import { formatTable } from './tables.ts';

test('a narrow table cuts a text, but not the list before it that is just as wide', () => {
  const lines = formatTable(
    [{ scopes: ['a'.repeat(20), 'b'.repeat(20)], name: 'c'.repeat(42) }],
    70,
  );
  expect(lines[1]).toBe(`${'a'.repeat(20)}, ${'b'.repeat(20)}  ${'c'.repeat(25)}…`);
});
