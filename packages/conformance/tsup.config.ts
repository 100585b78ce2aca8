import { defineConfig } from 'tsup';

export default defineConfig({
  entry: { main: 'src/main.ts', index: 'src/index.ts' },
  format: ['esm'],
  target: 'es2023',
  platform: 'neutral',
  external: [/^node:/],
  dts: { entry: { index: 'src/index.ts' } },
  clean: true,
  splitting: true,
  // Errors are printed all the same.
  silent: true,
});
