/**
 * Imports into an account of 60 requests a minute, once without and once with `--rpm 60`, and compares the time with the shortest possible:
 * `pnpm --filter @shortlink/e2e pace [batches]`. Takes some minutes.
 */
import { writeFile } from 'node:fs/promises';
import { wholeNumber } from '../src/whole-number.ts';
import { World } from '../src/world.ts';

const REQUESTS_PER_MINUTE = 60;
const BATCH_SIZE = 500;
const [batches = '60'] = process.argv.slice(2);

await using world = await World.create();
for (const flags of [[], ['--rpm', String(REQUESTS_PER_MINUTE)]]) {
  const { key } = await world.caller('custom', { rpm: REQUESTS_PER_MINUTE });
  const rows = wholeNumber('batches', batches) * BATCH_SIZE;
  const urls = Array.from({ length: rows }, (_, row) => `https://example.com/${row}`);
  await writeFile(world.path('links.txt'), urls.join('\n'));
  const run = await world.cli(key, [
    ...['import', 'links.txt', '--batch-size', String(BATCH_SIZE), '--restart', '--verbose'],
    ...[...flags, '--output', 'results.csv'],
  ]);
  const statuses = [...run.stderr.matchAll(/response .*status=(\d+)/g)].map(([, status]) => status);
  const refused = statuses.filter((status) => status === '429').length;
  console.log({ flags, exitCode: run.exitCode, requests: statuses.length, refused });
  console.log(`arithmetic: ${(((statuses.length - 1) * 60) / REQUESTS_PER_MINUTE).toFixed(1)} s`);
  console.log(/^[✓!✗] .*$/m.exec(run.stderr)?.[0]);
}
