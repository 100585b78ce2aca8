import fc from 'fast-check';
import { expect, test } from 'vitest';
import { flow, textWidth, wrapWords } from './wrap.ts';

test.each([
  ['links.csv', 9],
  ['\u001b[1mlinks\u001b[22m', 5],
  ['リンク.csv', 10],
  ['e\u0301', 1],
  ['█░ ✓ ←', 6],
  ['😀', 2],
])('%j is %i columns wide', (text, width) => {
  expect(textWidth(text)).toBe(width);
});

test('breaks at spaces, and nowhere without a terminal', () => {
  expect(wrapWords('one two three', 7)).toBe('one two\nthree');
  expect(wrapWords('one two\nthree', 5)).toBe('one\ntwo\nthree');
  expect(wrapWords('  one two three', 9)).toBe('  one two\n  three');
  expect(wrapWords('one two three', undefined)).toBe('one two three');
  expect(wrapWords('短い リンク', 6)).toBe('短い\nリンク');
});

test('a command at the end of a line is not broken', () => {
  const command = 'shortlink import links.csv --max-wait 3h';
  expect(wrapWords(`  To continue: ${command}`, 30)).toBe(`  To continue:\n  ${command}`);
  expect(wrapWords(`  To continue: ${command}`, 80)).toBe(`  To continue: ${command}`);
  expect(wrapWords(command, 10)).toBe(command);
});

test('no word is broken or lost, and a line is longer than the width only where it is one word', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '世') });
  const words = (of: string) => of.split(/\s+/).join(' ');
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 12 }), (before, width) => {
      const wrapped = wrapWords(before, width);
      expect(words(wrapped)).toBe(words(before));
      for (const line of wrapped.split('\n')) {
        expect(textWidth(line) <= width || !line.trim().includes(' ')).toBe(true);
      }
    }),
  );
});

test('parts flow onto the next line whole', () => {
  const parts = ['target_url ← URL', 'title ← Domain', 'tags ← Agency'];
  expect(flow(parts, { gap: 4, indent: 2 })).toBe(
    'target_url ← URL    title ← Domain    tags ← Agency',
  );
  expect(flow(parts, { width: 40, gap: 4, indent: 2 })).toBe(
    'target_url ← URL    title ← Domain\n  tags ← Agency',
  );
});
