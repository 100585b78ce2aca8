import fc from 'fast-check';
import { expect, test } from 'vitest';
import { wrapWords } from './wrap-words.ts';

test('breaks at spaces, and nowhere without a terminal', () => {
  expect(wrapWords('one two three', 7)).toBe('one two\nthree');
  expect(wrapWords('one two\nthree', 5)).toBe('one\ntwo\nthree');
  expect(wrapWords('one two three', undefined)).toBe('one two three');
});

test('no word is broken or lost, and a line is longer than the width only where it is one word', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n') });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 12 }), (words, width) => {
      const wrapped = wrapWords(words, width);
      expect(wrapped.replaceAll('\n', ' ')).toBe(words.replaceAll('\n', ' '));
      for (const line of wrapped.split('\n')) {
        expect(line.length <= width || !line.includes(' ')).toBe(true);
      }
    }),
  );
});
