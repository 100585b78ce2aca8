import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runProcess } from '../runtimes/drivers/run-process.ts';
import { RUNTIMES } from '../runtimes/drivers/runtimes.ts';
import { RUNTIME_TIMEOUT_MS, runInRuntime } from '../runtimes/run-runtime.ts';
import { type Row, readRows, toRow, withoutVersion } from '../runtimes/table.ts';
import { isNight } from '../src/is-night.ts';

/** Every other test runs on Node.js 24. Between the one before it and the one after it, it has the suite each night. */
const PLAYED = RUNTIMES.filter(({ name }) => isNight || name !== 'Node.js 24');

const rows: Row[] = [];

describe('the suite passes in', () => {
  // A few seconds more than the run's own limit, whose error message is the better one.
  test.each(PLAYED)('$name', { timeout: RUNTIME_TIMEOUT_MS + 10_000 }, async (runtime) => {
    const run = await runInRuntime(runtime);
    rows.push(toRow(run));
    const failures = run.results.filter((result) => result.failure !== undefined);
    const report = failures.map(({ name, failure }) => `${name}:\n${failure}`).join('\n\n');
    expect(
      failures,
      `${run.name} ${run.version} fails ${failures.length} checks\n\n${report}`,
    ).toEqual([]);
  });
});

test.each(['bun', 'deno'])('shortlink-server says in %s that it is for Node', async (name) => {
  const program = { bun: 'bun/bin/bun.exe', deno: 'deno/deno' }[name] ?? '';
  const main = fileURLToPath(import.meta.resolve('@shortlink/server/package.json')).replace(
    'package.json',
    'dist/main.js',
  );
  const args = name === 'deno' ? ['run', '--allow-all', main] : ['run', main];
  const running = runProcess(fileURLToPath(import.meta.resolve(program)), [...args, 'start']);
  await expect(running).rejects.toThrow(/shortlink-server needs Node 22\.13 or later/);
});

test('the table of the page about runtimes is what the runs say (`node packages/e2e/runtimes/write-table.ts` writes it)', async () => {
  const told = (await readRows()).map(withoutVersion);
  expect(told.map(([name]) => name)).toEqual(RUNTIMES.map(({ name }) => name));
  const played = told.filter(([name]) => PLAYED.some((runtime) => runtime.name === name));
  expect(played).toEqual(rows.map(withoutVersion));
});
