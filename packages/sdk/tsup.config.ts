import { defineConfig, type Options } from 'tsup';

const common = {
  entry: { index: 'src/index.ts', wire: 'src/wire/index.ts' },
  target: 'es2023',
  platform: 'neutral',
  tsconfig: 'tsconfig.src.json',
  dts: true,
  sourcemap: true,
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
