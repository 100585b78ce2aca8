import { expect, test } from 'vitest';
import { newLinks } from './contract/fixtures.ts';
import { JOB_CHUNK_LINKS, toJobChunks } from './job-chunks.ts';

test.each([
  [101, [101]],
  [500, [500]],
  [501, [500, 1]],
  [10_000, Array.from({ length: 20 }, () => 500)],
])('%d links are cut into chunks of %j', (count, sizes) => {
  const links = newLinks(count);
  const chunks: unknown[][] = toJobChunks(links).map((chunk) => JSON.parse(chunk));
  expect(JOB_CHUNK_LINKS).toBe(500);
  expect(chunks.map((chunk) => chunk.length)).toEqual(sizes);
  expect(chunks.flat()).toEqual(links);
});
