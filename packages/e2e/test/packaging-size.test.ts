import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { bundleSize } from '../src/bundle-size.ts';

const KB = 1_000;

/**
 * Sizes after minification and gzip. ky is 4.2 KB of the client, p-retry 1.2. Even a single error class or constant includes
 * some code that ky and our own modules run when they are loaded.
 */
const BUDGETS = [
  { name: 'the whole client', source: "export * from '@shortlink/sdk'", kb: 27 },
  { name: './wire', source: "export * from '@shortlink/sdk/wire'", kb: 7 },
  {
    name: 'one schema of ./wire',
    source: "export { linkSchema } from '@shortlink/sdk/wire'",
    kb: 5.3,
  },
  { name: 'one error class', source: "export { RateLimitError } from '@shortlink/sdk'", kb: 1.1 },
  { name: 'one constant', source: "export { MAX_BATCH_LINKS } from '@shortlink/sdk'", kb: 1 },
] as const;

it('the page about sizes says that of the whole client', async () => {
  const page = new URL('../../docs/sdk/runtimes.md', import.meta.url);
  const said = /A page loads (\d+) KB of the whole client/.exec(await readFile(page, 'utf8'))?.[1];
  expect(Number(said)).toBe(Math.round((await bundleSize(BUDGETS[0].source)) / KB));
});

it.each(BUDGETS)('$name takes at most $kb KB', async ({ name, source, kb }) => {
  const bytes = await bundleSize(source);
  console.log(`${name}: ${(bytes / KB).toFixed(2)} KB of ${kb}`);
  expect(bytes).toBeLessThanOrEqual(kb * KB);
});
