import { defineConfig } from 'tsup';

export default defineConfig({
  entry: { index: 'src/index.ts', wire: 'src/wire/index.ts' },
  format: ['esm', 'cjs'],
  target: 'es2023',
  platform: 'neutral',
  // ky and p-retry are ESM only: CommonJS users can `require` them from Node 22.12 on.
  dts: true,
  sourcemap: true,
  clean: true,
  splitting: true,
});
