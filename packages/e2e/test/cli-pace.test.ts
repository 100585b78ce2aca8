import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { World } from '../src/world.ts';

/** `pnpm --filter @shortlink/e2e pace` does the same at 60 a minute. */
const REQUESTS_PER_MINUTE = 900;
const BATCHES = 60;
const BATCH_SIZE = 150;

test('--rpm: as fast as the limit allows, with no 429, and at most two polls a batch', async () => {
  await using world = await World.create();
  const { key } = await world.caller('custom', { rpm: REQUESTS_PER_MINUTE });
  const urls = Array.from(
    { length: BATCHES * BATCH_SIZE },
    (_, row) => `https://example.com/${row}`,
  );
  await writeFile(world.path('links.txt'), urls.join('\n'));
  const run = await world.cli(key, [
    ...['import', 'links.txt', '--batch-size', String(BATCH_SIZE), '--verbose'],
    ...['--rpm', String(REQUESTS_PER_MINUTE), '-o', 'results.csv', '--json'],
  ]);
  expect(run.exitCode, run.stderr).toBe(0);
  const answers = [...run.stderr.matchAll(/response .*status=(\d+)/g)].map(([, status]) => status);
  expect(new Set(answers)).toEqual(new Set(['200', '202']));
  expect(answers.length).toBeLessThanOrEqual(3 * BATCHES);
  const arithmetic = ((answers.length - 1) * 60) / REQUESTS_PER_MINUTE;
  const seconds = JSON.parse(run.stdout).elapsed_ms / 1000;
  expect(seconds).toBeGreaterThan(arithmetic * 0.95);
  // The first poll, the file and the journal come on top.
  expect(seconds).toBeLessThan(arithmetic * 1.05 + 1.5);
});
