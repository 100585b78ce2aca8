import { expect, test } from 'vitest';
import { runKills } from '../src/kill/run-kills.ts';

/** Kills of each kind; `pnpm --filter @shortlink/e2e kill` kills 200 times. */
const KILLS = 6;

test('a growing, edited, sorted file, killed at random moments, with idempotency: each row once', async () => {
  const report = await runKills({ kills: KILLS, idempotency: true });
  expect(report).toMatchObject({ kills: KILLS, unknown: 0, created: report.rows });
});

test('without it: none twice, and what is doubtful is called unknown', async () => {
  const report = await runKills({ kills: KILLS, idempotency: false });
  expect(report.kills).toBe(KILLS);
  expect(report.created + report.unknown).toBe(report.rows);
});
