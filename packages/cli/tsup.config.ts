import { defineConfig } from 'tsup';

export default defineConfig({
  entry: { main: 'src/main.ts' },
  format: ['esm'],
  target: 'node22',
  platform: 'node',
  clean: true,
  splitting: true,
  // Node knows its SQLite by this name only.
  removeNodeProtocol: false,
  // Errors are printed all the same.
  silent: true,
  // It is published nowhere else. Its libraries are dependencies of this package.
  noExternal: ['@shortlink/tables'],
});
