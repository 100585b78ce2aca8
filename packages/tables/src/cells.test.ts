import { expect, test } from 'vitest';
import { splitTags } from './cells.ts';

test('tags: a separator of the user, and JSON arrays', () => {
  expect(splitTags('a,b;c', ';')).toEqual(['a,b', 'c']);
  expect(splitTags('["a,b","c"]', undefined)).toEqual(['a,b', 'c']);
  expect(splitTags('["a",null,1,12345678901234567890,true,""]', undefined)).toEqual([
    'a',
    '1',
    '12345678901234567890',
    'true',
  ]);
  expect(splitTags('[a,b', undefined)).toEqual(['[a', 'b']);
});
