import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchJson } from './batch-json.ts';

test('is what JSON.stringify makes, however many links there are', () => {
  const link = fc.record({
    target_url: fc.string(),
    title: fc.option(fc.string(), { nil: undefined }),
  });
  const links = fc
    .array(link, { maxLength: 3 })
    .chain((some) =>
      fc.constantFrom(0, 1, 199, 200, 201, 1_000).map((count) => Array(count).fill(some).flat()),
    );
  fc.assert(
    fc.property(links, fc.option(fc.string(), { nil: undefined }), (all, domain_id) => {
      const batch = { domain_id, links: all };
      expect(JSON.parse(batchJson(batch))).toEqual(JSON.parse(JSON.stringify(batch)));
      expect(batchJson(batch)).toBe(JSON.stringify(batch));
    }),
  );
});

test('a link that writes itself is written so', () => {
  const link = { target_url: 'https://example.com/a', toJSON: () => ({ target_url: 'b' }) };
  expect(batchJson({ links: [link] })).toBe('{"links":[{"target_url":"b"}]}');
});
