/**
 * Kills imports of growing, edited and sorted files at random moments, half of them with idempotency, and checks the outcome of every
 * row against the server's database: `pnpm --filter @shortlink/e2e kill [kills] [--power-cuts]`. With `--power-cuts` each kill also drops
 * what was not synced to the disk.
 */
import { runKills } from '../src/kill/run-kills.ts';
import { wholeNumber } from '../src/whole-number.ts';

const powerCuts = process.argv.includes('--power-cuts');
const [kills = '200'] = process.argv.slice(2).filter((word) => !word.startsWith('--'));
for (const idempotency of [true, false]) {
  console.log(idempotency ? 'with --idempotency' : 'without');
  await runKills({
    kills: wholeNumber('kills', kills) / 2,
    idempotency,
    powerCuts,
    onFile: (report) => console.log(report),
  });
}
