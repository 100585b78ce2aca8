import { readFile } from 'node:fs/promises';
import { defineConfig, type Options } from 'tsup';

/**
 * Marks every call of a schema builder as free of side effects. zod's own marks are seen by Rollup only; without these,
 * whoever takes one constant of the wire contract has all of zod in their bundle with esbuild or webpack.
 */
const pureSchemas: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'pure-schemas',
  setup(build) {
    build.onLoad({ filter: /\/src\/wire\/.*\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replaceAll(/\bz\.\w+\(/g, '/* @__PURE__ */ $&'),
      loader: 'ts',
    }));
  },
};

const common = {
  entry: { index: 'src/index.ts', wire: 'src/wire/index.ts' },
  target: 'es2023',
  platform: 'neutral',
  tsconfig: 'tsconfig.src.json',
  dts: true,
  sourcemap: true,
  esbuildPlugins: [pureSchemas],
} satisfies Options;

export default defineConfig([
  { ...common, format: 'esm', splitting: true },
  {
    ...common,
    format: 'cjs',
    // Splitting CommonJS goes through a second compiler, which rewrites the syntax; two files that share 6 KB are better.
    splitting: false,
    // ESM only, so they are part of the file: `require` of ESM needs Node 22.12, and test runners that load modules
    // themselves can't do it at all.
    noExternal: ['ky', 'p-retry', 'is-network-error'],
  },
]);
