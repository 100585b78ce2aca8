import { expect, test } from 'vitest';
import { shortUrlMaker } from './short-url.ts';

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
