import { expect, it } from 'vitest';
import { bundleSize } from '../src/bundle-size.ts';

const KB = 1024;

const CLIENT = "export { Shortlink } from '@shortlink/sdk'";

/**
 * Sizes after minification and gzip. Of the whole client, ky is 8.8 KB, p-retry 1.8 and the part of zod/mini that it
 * uses 5.5: that is 16 of the 28 KB before the first line of ours, so 18 KB for all of it are out of reach
 * with these libraries. ky is loaded with the first request, so a page starts with the rest. Budgets are what was reached, and 3%.
 */
const BUDGETS = [
  { name: 'the client, all of it', source: CLIENT, kb: 29, part: 'total' },
  { name: 'the client, before its first request', source: CLIENT, kb: 20, part: 'initial' },
  { name: './wire', source: "export * from '@shortlink/sdk/wire'", kb: 7, part: 'total' },
  {
    name: 'one schema of ./wire',
    source: "export { linkSchema } from '@shortlink/sdk/wire'",
    kb: 5.3,
    part: 'total',
  },
  {
    name: 'one error class',
    source: "export { RateLimitError } from '@shortlink/sdk'",
    kb: 1.1,
    part: 'initial',
  },
  {
    name: 'one constant',
    source: "export { MAX_BATCH_LINKS } from '@shortlink/sdk'",
    kb: 1.1,
    part: 'initial',
  },
] as const;

it.each(BUDGETS)('$name takes at most $kb KB', async ({ name, source, kb, part }) => {
  const { [part]: bytes } = await bundleSize(source);
  console.log(`${name}: ${(bytes / KB).toFixed(2)} KB of ${kb}`);
  expect(bytes).toBeLessThanOrEqual(kb * KB);
});
