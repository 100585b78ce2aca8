import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../../tools/test/any-text.ts';
import { sanitize, sanitizeData, sanitizeLines, toSafeJson } from './sanitize.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: what must never pass.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

test.each([
  ['plain', 'plain'],
  ['\u001b[31mred\u001b[0m', 'red'],
  ['\u001b]0;new title\u0007rest', 'rest'],
  ['\u001b]8;;https://evil\u001b\\text\u001b]8;;\u001b\\', 'text'],
  ['a\r\nb\tc', 'a b c'],
  ['\u009b2Jx', 'x'],
  ['gpj.\u202egnp', 'gpj. gnp'],
  ['emoji 😀 Größe', 'emoji 😀 Größe'],
])('%j becomes %j', (text, expected) => {
  expect(sanitize(text)).toBe(expected);
});

test.each([
  ...['\u0000', '\u001f', '\u007f', '\u009f', '\u061c', '\u200e', '\u200f', '\u2028', '\u2029'],
  ...['\u202a', '\u202e', '\u2066', '\u2069'],
])('%j, the first or last of its kind, passes nowhere', (character) => {
  const text = `a${character}b`;
  const shown = [sanitize(text), sanitizeLines(text), sanitizeData(text), toSafeJson(text)];
  for (const safe of shown) expect(safe).not.toContain(character);
});

test('a table on a terminal keeps its tabs, its spaces and its lines', () => {
  expect(sanitizeData('a\tb  c \r\nd\re\n')).toBe('a\tb  c \r\nd e\n');
});

test('no control character passes, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      expect(sanitize(text)).not.toMatch(CONTROL);
      expect(sanitizeLines(text).replaceAll('\n', '')).not.toMatch(CONTROL);
    }),
  );
});

test('lines of our own stay lines, with their indentation', () => {
  expect(sanitizeLines('one\n  two\u0007')).toBe('one\n  two');
});

test('JSON is safe to print and the same value', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      const json = toSafeJson({ text });
      expect(json).not.toMatch(CONTROL);
      expect(JSON.parse(json)).toEqual({ text });
    }),
  );
});
