import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { workbook } from '../../tables/test/workbook-fixture.ts';
import { isNight } from '../src/is-night.ts';
import { World } from '../src/world.ts';

/** 80,000 rows take 150 MB, and 190 where each is kept; each night it is 170 of 200,000 rows, and 290. */
const ROWS = isNight ? 200_000 : 80_000;
const MAX_MEMORY_MB = isNight ? 250 : 170;

/**
 * Loaded before the program: at its end, the most memory that it had, as a line of `proc_pid_status(5)`. `maxRSS` would count the process that
 * started it too, which is this test with its workbook.
 */
const MEASURE = `
import { readFileSync, writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync(process.env.MEMORY_FILE, readFileSync('/proc/self/status')));
`;

test(`to read and check a workbook of ${ROWS} rows takes at most ${MAX_MEMORY_MB} MB`, async () => {
  await using world = await World.create();
  const { key } = await world.caller('custom');
  const rows = Array.from({ length: ROWS }, (_, row) => [
    `https://example.com/products/${row}?campaign=spring`,
    ...Array.from({ length: 7 }, (_, column) => `Text ${column} of row ${row}`),
  ]);
  const header = ['url', 'title', 'a', 'b', 'c', 'd', 'e', 'f'];
  await writeFile(world.path('links.xlsx'), workbook({ Links: [header, ...rows] }));
  await writeFile(world.path('measure.mjs'), MEASURE);
  const run = await world.cli(key, ['import', 'links.xlsx', '--dry-run', '--json'], {
    env: {
      MEMORY_FILE: world.path('memory'),
      NODE_OPTIONS: `--import=${world.path('measure.mjs')}`,
    },
  });
  expect(run.exitCode, run.stderr).toBe(0);
  expect(JSON.parse(run.stdout)).toMatchObject({ rows: ROWS, rejected: 0 });
  const status = await readFile(world.path('memory'), 'utf8');
  const kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
  expect(kilobytes).toBeGreaterThan(0);
  expect(kilobytes / 1_000).toBeLessThan(MAX_MEMORY_MB);
});
