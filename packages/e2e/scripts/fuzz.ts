/**
 * Sends the server random requests, drawn from its own API description, for some minutes, and prints how many responses of each kind came:
 * `pnpm --filter @shortlink/e2e fuzz [requests] [seed]`. A failure prints the smallest request and the seed that repeats it.
 */
import { runFuzz } from '../src/fuzz/run-fuzz.ts';
import { wholeNumber } from '../src/whole-number.ts';

const [requests = '100000', seed] = process.argv.slice(2);
const startedAt = performance.now();
const report = await runFuzz({
  requests: wholeNumber('requests', requests),
  ...(seed !== undefined && { seed: wholeNumber('seed', seed) }),
});
for (const [line, count] of Object.entries(report)) console.log(String(count).padStart(8), line);
console.log(
  `${requests} requests in ${Math.round((performance.now() - startedAt) / 1000)} s, no difference`,
);
