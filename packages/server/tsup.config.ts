import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    main: 'src/main.ts',
    index: 'src/index.ts',
    testing: 'src/testing/index.ts',
    'testing-msw': 'src/testing/msw.ts',
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
    entry: {
      index: 'src/index.ts',
      testing: 'src/testing/index.ts',
      'testing-msw': 'src/testing/msw.ts',
    },
  },
  clean: true,
  splitting: true,
  // Errors are printed all the same.
  silent: true,
  // A hundred small files, which would be found and read one by one at every start. No type of ours is a type of theirs.
  noExternal: ['zod', '@shortlink/tables'],
});
