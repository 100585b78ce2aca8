import { expect, test } from 'vitest';
import { LEAST_OF_A_ROUND, runTorture } from '../src/torture/run-torture.ts';

/** Each night plays 100, of which every tenth is a graceful stop. */
const ROUNDS = 2;

test('kill -9 at random moments under creates, batches, jobs and redirects: nothing acknowledged is lost', async () => {
  const report = await runTorture(ROUNDS);
  expect(report).toMatchObject({ rounds: ROUNDS, kills: ROUNDS });
  expect(report.acknowledgedLinks).toBeGreaterThan(LEAST_OF_A_ROUND.links * ROUNDS);
  expect(report.acceptedJobs).toBeGreaterThan(0);
  expect(report.answeredClicks).toBeGreaterThan(LEAST_OF_A_ROUND.clicks * ROUNDS);
});
