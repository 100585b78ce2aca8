import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { userAgent, VERSION } from './send.ts';

it('names the version of the package', async () => {
  const json = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
  expect(JSON.parse(json)).toHaveProperty('version', VERSION);
});

it.each([
  ['node/24.1.0', { process: { versions: { node: '24.1.0' } } }],
  ['bun/1.4.4', { process: { versions: { node: '24.1.0', bun: '1.4.4' } } }],
  ['deno/2.9.6', { Deno: { version: { deno: '2.9.6' } }, process: { versions: { node: '24' } } }],
  ['workerd', { navigator: { userAgent: 'Cloudflare-Workers' } }],
])('names %s', (runtime, scope) => {
  expect(userAgent(scope)).toBe(`shortlink-sdk/${VERSION} ${runtime}`);
});

it.each([
  ['a page', { document: {}, navigator: { userAgent: 'Mozilla/5.0' } }],
  ['a page with a process', { document: {}, process: { versions: { node: '24.1.0' } } }],
  ["a page's worker", { navigator: { userAgent: 'Mozilla/5.0' } }],
])('leaves the header to the browser in %s', (_, scope) => {
  expect(userAgent(scope)).toBeUndefined();
});
