import { expect, test } from 'vitest';
import { runFuzz } from '../src/fuzz/run-fuzz.ts';

/** `pnpm --filter @shortlink/e2e fuzz` sends 100,000. */
const REQUESTS = 1_500;

test('every answer to a random request is one that /openapi.json describes', async () => {
  const report = await runFuzz({ requests: REQUESTS });
  const statuses = new Set(Object.keys(report).map((line) => line.split(' ').at(-1)));
  // A fuzzer that meets refusals only, or successes only, looks at half of the service.
  for (const status of ['200', '201', '302', '400', '401', '403', '404', '405', '429']) {
    expect(statuses, `${status} among the answers`).toContain(status);
  }
});
