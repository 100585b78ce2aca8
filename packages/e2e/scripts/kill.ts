/**
 * Kills imports of growing, edited and sorted files at random moments, half of them with idempotency, and checks the fate of every row against the
 * server's database: `pnpm --filter @shortlink/e2e kill [kills]`.
 */
import { runKills } from '../src/kill/run-kills.ts';

const [kills = '200'] = process.argv.slice(2);
for (const idempotency of [true, false]) {
  console.log(idempotency ? 'with --idempotency' : 'without');
  await runKills({
    kills: Number(kills) / 2,
    idempotency,
    onFile: (report) => console.log(report),
  });
}
