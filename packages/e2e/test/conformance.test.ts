import { readFile } from 'node:fs/promises';
import { runConformance, textReport } from '@shortlink/conformance';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONFORMANCE_PROGRAM } from '../src/programs.ts';
import { runProgram } from '../src/run-program.ts';
import { World } from '../src/world.ts';

let world: World;
// The conformance suite waits by moving the clock of the servers.
let now = Date.now();

beforeAll(async () => {
  world = await World.create({ hasMovableClock: true });
  await sleep(0);
});
afterAll(() => world[Symbol.asyncDispose]());

async function sleep(ms: number): Promise<void> {
  now += ms;
  await world.setClock({ now, runs: false });
  // Clicks are written by timers, which this clock doesn't move.
  if (ms === 1_000) await new Promise((resolve) => setTimeout(resolve, 300));
}

test.each([
  ['community', 12],
  ['avance', 4],
] as const)(
  'on %s, no statement of the protocol fails, and %i or fewer are not shown',
  async (plan, hidden) => {
    const { account, key: apiKey } = await world.caller(plan);
    const { key: readKey } = await world
      .key(account.id, 'analytics:read')
      .catch(() => ({ key: undefined }));
    const report = await runConformance({ baseUrl: world.server.url, apiKey, readKey, sleep });
    const failing = report.verdicts.filter(({ result }) => result === 'fails');
    expect(failing.map(({ id, ...verdict }) => [id, verdict])).toEqual([]);
    const notShown = report.verdicts.filter(
      (verdict) => verdict.result === 'not shown' && !verdict.isAddition,
    );
    expect(notShown.length, textReport(report)).toBeLessThanOrEqual(hidden);
  },
);

test('the program reports, writes its files, and ends with 1 where a list of failures is stale', async () => {
  await world.newFolder();
  const { key } = await world.caller('custom');
  const run = (...args: string[]) =>
    runProgram(CONFORMANCE_PROGRAM, ['--budget-requests', '60', ...args], {
      cwd: world.folder,
      env: { SHORTLINK_BASE_URL: world.server.url, SHORTLINK_API_KEY: key },
    });
  const passed = await run('--junit', 'report.xml', '--html', 'report.html');
  expect(passed.stderr).toBe('');
  expect(passed.stdout).toMatch(/Protocol 1 at .*: 3\d hold, 0 fail, 1\d not shown\./);
  expect(passed.exitCode).toBe(0);
  expect(await readFile(world.path('report.xml'), 'utf8')).toContain(
    '<testsuite name="protocol" tests="48" failures="0"',
  );
  expect(await readFile(world.path('report.html'), 'utf8')).toContain('POST /api/v1/links');
});
