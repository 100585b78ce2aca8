import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { medianOf, type Row, type Section } from '../frame/section.ts';

/** What a page would import. "Whole" is everything that the package exports. */
const IMPORTS = {
  ky: `export { default } from 'ky'`,
  '@shortlink/sdk, whole': `export * from '@shortlink/sdk'`,
  '@shortlink/sdk, one create': `import { Shortlink } from '@shortlink/sdk';
    console.log(await new Shortlink().links.create({ target_url: location.href }));`,
  '@shortlink/sdk/wire, whole': `export * from '@shortlink/sdk/wire'`,
  '@shortlink/sdk/wire, one schema': `export { linkSchema } from '@shortlink/sdk/wire'`,
  'dub, whole': `export * from 'dub'`,
  'dub, one create': `import { DubCore } from 'dub/core.js'; import { linksCreate } from 'dub/funcs/linksCreate.js';
    console.log(await linksCreate(new DubCore(), { url: location.href }));`,
  'openai, whole': `export * from 'openai'`,
  'openai, one create': `import OpenAI from 'openai';
    console.log(await new OpenAI().chat.completions.create({ model: 'm', messages: [] }));`,
  '@anthropic-ai/sdk, whole': `export * from '@anthropic-ai/sdk'`,
  '@anthropic-ai/sdk, one create': `import Anthropic from '@anthropic-ai/sdk';
    console.log(await new Anthropic().messages.create({ model: 'm', max_tokens: 1, messages: [] }));`,
} as const;

/** Size budgets, in KB of 1,000 bytes. */
const WHOLE_KB = 27.2;
const WIRE_KB = 7.05;

const OWN_CODE = '@shortlink/sdk, its own code';

/** Bytes a browser loads for each import: bundled and minified by esbuild, then gzip at its best level. */
export async function measureSizes(): Promise<Section> {
  const rows: Row[] = [];
  for (const [name, code] of Object.entries(IMPORTS)) {
    rows.push(toRow(name, await bundled(code)));
  }
  // From its sources, since the build has the libraries in it.
  const sources = fileURLToPath(new URL('../../../sdk/src/index.ts', import.meta.url));
  const ownCode = `export * from ${JSON.stringify(sources)}`;
  rows.push(toRow(OWN_CODE, await bundled(ownCode, ['ky', 'p-retry', 'zod'])));
  const gzipOf = (name: keyof typeof IMPORTS) => medianOf(rows, name, 'min+gzip KB');
  return {
    title: 'Bundle size',
    about:
      'Bundled for browsers and minified by esbuild; KB are 1,000 bytes. "Its own code" is without ky, p-retry and zod.',
    rows,
    checks: [
      {
        name: 'whole client, min+gzip KB',
        measured: gzipOf('@shortlink/sdk, whole'),
        wanted: { atMost: WHOLE_KB },
      },
      {
        name: './wire, min+gzip KB',
        measured: gzipOf('@shortlink/sdk/wire, whole'),
        wanted: { atMost: WIRE_KB },
      },
    ],
  };
}

function toRow(name: string, bundle: Uint8Array): Row {
  return {
    name,
    figures: {
      'min KB': figureOf(bundle.length / 1000),
      'min+gzip KB': figureOf(gzipSync(bundle, { level: 9 }).length / 1000),
    },
  };
}

/** @param external libraries to leave out */
async function bundled(code: string, external: readonly string[] = []): Promise<Uint8Array> {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    // Some of the other clients import modules of Node, which a page does not have.
    external: ['node:*', ...external],
    logLevel: 'error',
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error('esbuild made no file');
  return file.contents;
}

const figureOf = (value: number) => ({ median: value, min: value, max: value });
