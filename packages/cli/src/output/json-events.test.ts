import { expect, test } from 'vitest';
import { mappingOf } from './json-events.ts';

test('a column is named as its header has it, or by its number from 1 where there is none', () => {
  const plan = { mapping: { target_url: 0, title: 2 }, columns: ['url', 'id', 'name'] } as const;
  const mappings = [true, false].map((hasHeader) => mappingOf({ ...plan, hasHeader } as never));
  expect(mappings).toEqual([
    { target_url: 'url', title: 'name' },
    { target_url: 1, title: 3 },
  ]);
});
