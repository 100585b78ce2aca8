import { bundleSize } from '../../e2e/src/bundle-size.ts';
import { table } from './markdown.ts';

/** What a program in a page imports. */
const PROGRAMS = {
  'the client': "export { Shortlink } from '@shortlink/sdk'",
  'everything that `@shortlink/sdk` exports': "export * from '@shortlink/sdk'",
  'one error class': "export { RateLimitError } from '@shortlink/sdk'",
  'everything that `@shortlink/sdk/wire` exports': "export * from '@shortlink/sdk/wire'",
  'one schema of `@shortlink/sdk/wire`': "export { linkSchema } from '@shortlink/sdk/wire'",
};

/** What a page loads for each of these, measured now. */
export async function sizePage(): Promise<string> {
  const rows = await Promise.all(
    Object.entries(PROGRAMS).map(async ([name, source]) => [
      name,
      `${((await bundleSize(source)) / 1000).toFixed(2)} KB`,
    ]),
  );
  return `# Size

What a page loads: bundled and minified by esbuild, then gzip at its best level, in KB of 1,000 bytes. Measured when this page was built.

${table(['what is imported', 'size'], rows)}`;
}
