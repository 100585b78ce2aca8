import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { build } from 'esbuild';
import type { TestProject } from 'vitest/node';
import { WRITER, WRITER_BUNDLE } from './writer-bundle.ts';

const SDK = join(import.meta.dirname, '../../sdk/src');

/**
 * Bundles the thread that writes to a SQLite file, once for all tests of a run. A test that opens such a file starts the thread, and to load its 130
 * modules, most of them zod's, takes longer than to start it and longer than most tests. Of zod it uses nothing, so that none is in the bundle.
 */
export default async function bundleWriter(project: TestProject): Promise<() => Promise<void>> {
  // While people change the sources, threads follow them.
  if (project.vitest.config.watch) return async () => undefined;
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-writer-'));
  const outfile = join(folder, 'writer-thread.mjs');
  await build({
    entryPoints: [WRITER],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    alias: { '@shortlink/sdk/wire': join(SDK, 'wire/index.ts') },
    logLevel: 'warning',
  });
  env[WRITER_BUNDLE] = outfile;
  return () => rm(folder, { recursive: true, force: true });
}
