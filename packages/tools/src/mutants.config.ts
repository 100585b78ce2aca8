// The vitest configuration of `pnpm mutants`: tests that need no real server, browser or database on a disk, and the SDK from its
// source, so that nothing has to be built.
import { join } from 'node:path';
import { env } from 'node:process';
import { defineConfig } from 'vitest/config';
import { slowTestsOf } from '../../../vitest.config.ts';

/** The copy of the workspace in which the mutants are. */
const root = join(import.meta.dirname, '../../..');
const sdk = join(root, 'packages/sdk/src');

export default defineConfig({
  root,
  resolve: {
    alias: [
      { find: /^@shortlink\/sdk$/, replacement: join(sdk, 'index.ts') },
      { find: /^@shortlink\/sdk\/wire$/, replacement: join(sdk, 'wire/index.ts') },
    ],
  },
  test: {
    include: env['MUTANTS_TESTS']?.split(' ') ?? [],
    exclude: ['sdk', 'cli', 'server'].flatMap((name) =>
      slowTestsOf(`packages/${name}`).map((file) => `packages/${name}/${file}`),
    ),
    testTimeout: 60_000,
    // One worker for all files: to start one for each of them would take most of the time.
    isolate: false,
  },
});
