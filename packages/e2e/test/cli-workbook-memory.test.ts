import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { workbook } from '../../tables/test/workbook-fixture.ts';
import { isNight } from '../src/is-night.ts';
import { CLI_PROGRAM } from '../src/programs.ts';
import { runProgram } from '../src/run-program.ts';

/**
 * 8,000 rows of long texts take 142 MB, and 184 where each is kept; each night it is 152 of 200,000 rows of short ones, and 303. A dry run
 * without an account, which needs no server.
 */
const [ROWS, TEXT, MAX_MEMORY_MB] = isNight ? [200_000, '', 225] : [8_000, 'x'.repeat(1_000), 165];

/**
 * Loaded before the program: at its end, the most memory that it had, as a line of `proc_pid_status(5)`. `maxRSS` would count the process that
 * started it too, which is this test with its workbook.
 */
const MEASURE = `
import { readFileSync, writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync(process.env.MEMORY_FILE, readFileSync('/proc/self/status')));
`;

test(`to read and check a workbook of ${ROWS} rows takes at most ${MAX_MEMORY_MB} MB`, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-memory-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const rows = Array.from({ length: ROWS }, (_, row) => [
    `https://example.com/products/${row}?campaign=spring`,
    `Title of row ${row}`,
    ...Array.from({ length: 6 }, (_, column) => `Text ${column} of row ${row}${TEXT}`),
  ]);
  const header = ['url', 'title', 'a', 'b', 'c', 'd', 'e', 'f'];
  await writeFile(join(folder, 'links.xlsx'), workbook({ Links: [header, ...rows] }));
  await writeFile(join(folder, 'measure.mjs'), MEASURE);
  const memory = join(folder, 'memory');
  const run = await runProgram(CLI_PROGRAM, ['import', 'links.xlsx', '--dry-run', '--json'], {
    cwd: folder,
    env: {
      HOME: folder,
      MEMORY_FILE: memory,
      NODE_OPTIONS: `--import=${join(folder, 'measure.mjs')}`,
    },
  });
  expect(run.exitCode, run.stderr).toBe(0);
  expect(JSON.parse(run.stdout)).toMatchObject({ rows: ROWS, rejected: 0 });
  const status = await readFile(memory, 'utf8');
  const kilobytes = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
  expect(kilobytes).toBeGreaterThan(0);
  expect(kilobytes / 1_000).toBeLessThan(MAX_MEMORY_MB);
});
