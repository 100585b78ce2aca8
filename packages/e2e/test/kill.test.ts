import { expect, test } from 'vitest';
import { runKills } from '../src/kill/run-kills.ts';

/**
 * Kills of each kind, and rows of each file; each night kills 400 times in files of 30,000 rows. A file of
 * 4,000 still takes many batches, so a kill still finds an import in the middle of one.
 */
const KILLS = 3;
const ROWS = 4_000;

test('a growing, edited, sorted file, killed at random moments, with idempotency: each row once', async () => {
  const report = await runKills({ kills: KILLS, rows: ROWS, idempotency: true });
  expect(report).toMatchObject({ kills: KILLS, unknown: 0, created: report.rows });
});

test('without it: none twice, and what is doubtful is called unknown', async () => {
  const report = await runKills({ kills: KILLS, rows: ROWS, idempotency: false });
  expect(report.kills).toBe(KILLS);
  expect(report.created + report.unknown).toBe(report.rows);
});
