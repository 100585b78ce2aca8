import { expect, test } from 'vitest';
import { runTorture } from '../src/torture/run-torture.ts';

/** `pnpm --filter @shortlink/e2e torture` plays 200 rounds. The tenth is a graceful stop. */
const ROUNDS = 10;

test('kill -9 at random moments under creates, batches, jobs and redirects: nothing acknowledged is lost', async () => {
  const report = await runTorture(ROUNDS);
  expect(report).toMatchObject({ rounds: ROUNDS, kills: ROUNDS - 1 });
  expect(report.acknowledgedLinks).toBeGreaterThan(500);
  expect(report.acceptedJobs).toBeGreaterThan(0);
  expect(report.answeredClicks).toBeGreaterThan(200);
});
