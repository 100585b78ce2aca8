import { readFile } from 'node:fs/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { JOB, json } from '../../test/answers.ts';
import { makeClient } from '../../test/make-client.ts';
import { userAgent, VERSION } from './send.ts';

afterEach(() => vi.unstubAllGlobals());

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

it('is no header of a request in a page', async () => {
  vi.stubGlobal('document', {});
  const fetch = vi.fn(async (_url: string, _init: { headers: object }) => json(JOB));
  await makeClient({ fetch }).jobs.retrieve(JOB.id);
  const { headers } = fetch.mock.calls[0]?.[1] ?? {};
  expect(headers).toHaveProperty('accept');
  expect(headers).not.toHaveProperty('user-agent');
});

it('is made where something else calls itself Deno', () => {
  expect(() => userAgent({ Deno: {} })).not.toThrow();
});
