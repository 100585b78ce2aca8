import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { World } from '../src/world.ts';

/** `pnpm --filter @shortlink/e2e pace` does the same at 60 a minute. */
const REQUESTS_PER_MINUTE = 900;
const BATCHES = 60;
const BATCH_SIZE = 150;

test('--rpm: as fast as the limit allows, with no 429, and at most two polls a batch', async () => {
  await using world = await World.create();
  const urls = Array.from(
    { length: BATCHES * BATCH_SIZE },
    (_, row) => `https://example.com/${row}`,
  );
  await writeFile(world.path('links.txt'), urls.join('\n'));
  /** Imports all of them with a key of its own, and resolves to the seconds and to the status of each response. */
  const importAll = async (rpm: number | 'unlimited', options: readonly string[]) => {
    const { key } = await world.caller('custom', { rpm });
    const run = await world.cli(key, [
      ...['import', 'links.txt', '--batch-size', String(BATCH_SIZE), '--verbose', '--restart'],
      ...[...options, '-o', 'results.csv', '--json'],
    ]);
    expect(run.exitCode, run.stderr).toBe(0);
    const statuses = [...run.stderr.matchAll(/"message":"response".*"status":(\d+)/g)].map(
      ([, status]) => status,
    );
    return { statuses, seconds: JSON.parse(run.stdout).elapsed_ms / 1000 };
  };

  const unlimited = await importAll('unlimited', []);
  const overhead: number[] = [];
  for (let tries = 0; tries < 3; tries += 1) {
    const paced = ['--rpm', String(REQUESTS_PER_MINUTE)];
    const { statuses, seconds } = await importAll(REQUESTS_PER_MINUTE, paced);
    expect(new Set(statuses)).toEqual(new Set(['200', '202']));
    expect(statuses.length).toBeLessThanOrEqual(3 * BATCHES);
    const arithmetic = ((statuses.length - 1) * 60) / REQUESTS_PER_MINUTE;
    expect(seconds).toBeGreaterThan(arithmetic * 0.95);
    overhead.push(seconds - arithmetic * 1.05);
    // The first poll, the file and the journal come on top: on this machine, at most what the import takes without a limit. Where
    // other programs have held up one import, the next one shows how fast it is.
    if (Math.min(...overhead) < Math.max(1.5, unlimited.seconds)) return;
  }
  expect.fail(`slower than the limit allows, by seconds: ${overhead}`);
});
