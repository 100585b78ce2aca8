import { expect, test } from 'vitest';
import { arrayOf } from './statement.ts';

test.each([
  [['a', 'ü 🎉', ''], '{"a","ü 🎉",""}'],
  [['a "b"', 'c\\d', '\\"'], '{"a \\"b\\"","c\\\\d","\\\\\\""}'],
  [
    ['tab\t', 'line\n', 'nul\0', '\u2028', '\ud800'],
    '{"tab\t","line\n","nul\0","\u2028","\ud800"}',
  ],
  [['\\n', '\\u0041', '\\'], '{"\\\\n","\\\\u0041","\\\\"}'],
  [['NULL', null, undefined, 1, true], '{"NULL",NULL,NULL,1,true}'],
  [[], '{}'],
])('the texts %j are an array of PostgreSQL', (values, text) => {
  expect(arrayOf(values)).toBe(text);
});
