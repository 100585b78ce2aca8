import { fileURLToPath } from 'node:url';

/** The thread that writes to a SQLite file. */
export const WRITER = fileURLToPath(
  new URL('../../server/src/store/sqlite/writer-thread.ts', import.meta.url),
);

/** The variable with the path of its bundle, where there is one. */
export const WRITER_BUNDLE = 'SHORTLINK_TEST_WRITER_BUNDLE';
