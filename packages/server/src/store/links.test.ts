import { expect, test } from 'vitest';
import { newLinks } from './contract/fixtures.test-suite.ts';
import { JOB_CHUNK_LINKS, shortUrlMaker, toJobInput } from './links.ts';

test.each([
  ['https://sho.rt', 'https://sho.rt/abc'],
  ['https://sho.rt/', 'https://sho.rt/abc'],
  ['http://127.0.0.1:8787', 'http://127.0.0.1:8787/abc'],
  ['https://example.com/s/', 'https://example.com/s/abc'],
])('under %s a link of the default domain is %s', (publicUrl, shortUrl) => {
  expect(shortUrlMaker(publicUrl)('abc', null)).toBe(shortUrl);
});

test('a custom domain takes the scheme of the public URL', () => {
  expect(shortUrlMaker('https://sho.rt')('abc', 'go.example')).toBe('https://go.example/abc');
  expect(shortUrlMaker('http://sho.rt:1')('abc', 'go.example:8')).toBe('http://go.example:8/abc');
});

test.each([
  [101, [101]],
  [500, [500]],
  [501, [500, 1]],
  [10_000, Array.from({ length: 20 }, () => 500)],
])('%d links are cut into chunks of %j', (count, sizes) => {
  const links = newLinks(count);
  const { total, chunks: inputs } = toJobInput(links);
  const chunks: unknown[][] = inputs.map((chunk) => JSON.parse(new TextDecoder().decode(chunk)));
  expect(total).toBe(count);
  expect(JOB_CHUNK_LINKS).toBe(500);
  expect(chunks.map((chunk) => chunk.length)).toEqual(sizes);
  expect(chunks.flat()).toEqual(links);
});
