/**
 * Kills a busy server at random moments and checks each time that nothing acknowledged is lost:
 * `pnpm --filter @shortlink/e2e torture [rounds]`; with SHORTLINK_E2E_BACKEND=cluster, three servers that share a PostgreSQL.
 */
import { runTorture } from '../src/torture/run-torture.ts';
import { wholeNumber } from '../src/whole-number.ts';

const [rounds = '200'] = process.argv.slice(2);
const startedAt = performance.now();
const report = await runTorture(
  wholeNumber('rounds', rounds),
  (round, { links, answeredClicks, lostClicks, lateMs }) => {
    console.log(
      `round ${round}: ${links} links, ${answeredClicks} clicks, ${lostClicks} of them lost, up to ${Math.round(lateMs)} ms late`,
    );
  },
);
console.log({ ...report, seconds: Math.round((performance.now() - startedAt) / 1000) });
