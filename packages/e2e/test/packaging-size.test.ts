import { expect, it } from 'vitest';
import { bundleSize } from '../src/bundle-size.ts';

const KB = 1024;

const CLIENT = "export { Shortlink } from '@shortlink/sdk'";

/**
 * Sizes after minification and gzip. Of the whole client, ky is 8.8 KB, p-retry 1.8 and the part of zod/mini that it
 * uses 5.5: 16 before the first line of ours, so 18 KB for all of it are out of reach with these libraries. What a page
 * needs at its start is a fifth of the whole: the three libraries and what makes attempts come with the first request,
 * bulk runs and waits for jobs with the first of these. Budgets are what was reached, and 3%.
 */
const BUDGETS = [
  { name: 'the client, all of it', source: CLIENT, kb: 30.2, parts: 'total' },
  { name: 'the client, before its first request', source: CLIENT, kb: 5.8, parts: 'initial' },
  { name: 'a page that creates links one by one', source: CLIENT, kb: 25.5, parts: 'attempts' },
  { name: './wire', source: "export * from '@shortlink/sdk/wire'", kb: 6.8, parts: 'total' },
  {
    name: 'one schema of ./wire',
    source: "export { linkSchema } from '@shortlink/sdk/wire'",
    kb: 5.0,
    parts: 'total',
  },
  {
    name: 'one error class',
    source: "export { RateLimitError } from '@shortlink/sdk'",
    kb: 0.4,
    parts: 'total',
  },
  {
    name: 'one constant',
    source: "export { MAX_BATCH_LINKS } from '@shortlink/sdk'",
    kb: 0.1,
    parts: 'total',
  },
] as const;

it.each(BUDGETS)('$name takes at most $kb KB', async ({ name, source, kb, parts }) => {
  const { total, initial, late } = await bundleSize(source);
  const attempts = late['attempts']?.bytes ?? Number.NaN;
  const bytes = { total, initial, attempts: initial + attempts }[parts];
  console.log(`${name}: ${(bytes / KB).toFixed(2)} KB of ${kb}`);
  expect(bytes).toBeLessThanOrEqual(kb * KB);
});

it('what a page loads late are two files, neither of which brings a third', async () => {
  const { late } = await bundleSize(CLIENT);
  const files = Object.entries(late).map(([name, part]) => [name, part.files]);
  expect(Object.fromEntries(files)).toEqual({ attempts: 1, 'batch-work': 1 });
});
