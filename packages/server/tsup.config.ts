import { copyFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Options } from 'tsup';
import { forPage } from './browser.config.ts';

const TESTING = { testing: 'src/testing/index.ts', 'testing-msw': 'src/testing/msw.ts' };

const forNode = defineConfig({
  entry: {
    main: 'src/main.ts',
    index: 'src/index.ts',
    ...TESTING,
    'testing-parts': 'src/testing/parts.ts',
    'body-thread': 'src/http/body-thread.ts',
    'writer-thread': 'src/store/sqlite/writer-thread.ts',
    'backup-process': 'src/store/sqlite/backup-process.ts',
  },
  // The analytics page is read at run time, from beside the bundle.
  publicDir: 'src/analytics/page',
  format: ['esm'],
  target: 'node22',
  platform: 'node',
  dts: {
    compilerOptions: { noCheck: true },
    entry: { index: 'src/index.ts', ...TESTING },
  },
  splitting: true,
  // Errors are printed all the same.
  silent: true,
  // A hundred small files, which would be found and read one by one at every start. No type of ours is a type of theirs.
  noExternal: ['zod', '@shortlink/tables'],
});

/**
 * Its types are written by `declarations.config.ts`.
 *
 * Jest has a module loader of its own, which reads no ES modules. What `require` gets there is the same service from the same files: they
 * are loaded by Node's own loader, which only code outside of Jest's context can ask for.
 */
const loadedByNode: NonNullable<Options['esbuildPlugins']>[number] = {
  name: 'loaded-by-node',
  setup(build) {
    build.onResolve({ filter: /^\.\.?\// }, ({ kind }) =>
      kind === 'entry-point' ? undefined : { path: 'parts', namespace: 'loaded-by-node' },
    );
    build.onLoad({ filter: /^parts$/, namespace: 'loaded-by-node' }, () => ({
      contents: `const { getBuiltinModule } = require('node:vm').runInThisContext('process');
module.exports = getBuiltinModule('node:module').createRequire(__filename)('./testing-parts.js');`,
    }));
  },
};

const forRequire = defineConfig({
  entry: TESTING,
  format: ['cjs'],
  target: 'node22',
  platform: 'node',
  silent: true,
  esbuildPlugins: [loadedByNode],
});

const wasm = fileURLToPath(import.meta.resolve('sql.js/dist/sql-wasm-browser.wasm'));

/** One file, and SQLite beside it. */
const browser = defineConfig({
  entry: { browser: 'src/browser/index.ts' },
  format: ['esm'],
  target: 'es2023',
  platform: 'browser',
  dts: { compilerOptions: { noCheck: true } },
  minify: true,
  silent: true,
  noExternal: [/./],
  // tsup would leave Node's modules to the page.
  removeNodeProtocol: false,
  inject: forPage.inject,
  define: forPage.define,
  esbuildPlugins: forPage.plugins,
  onSuccess: () => copyFile(wasm, 'dist/sqlite3.wasm'),
});

export default [forNode, forRequire, browser];
