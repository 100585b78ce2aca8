import { readSettings } from '@shortlink/server';
import { expect, test } from 'vitest';
import { startPostgres } from '../../server/test/start-postgres.ts';
import { runFuzz } from '../src/fuzz/run-fuzz.ts';
import { databaseTools } from '../src/inner-server.ts';

/** `pnpm --filter @shortlink/e2e fuzz` sends 100,000. */
const REQUESTS = 800;

/** Fewer requests on PostgreSQL, where each takes several transactions. */
const POSTGRES_REQUESTS = 250;

test('on PostgreSQL too, every answer is one that is described', async () => {
  const postgres = await startPostgres(['fsync=off']);
  try {
    const publicUrl = 'https://sho.rt';
    const settings = readSettings({ database: postgres.url, publicUrl }, {});
    const store = await databaseTools(settings).open(publicUrl);
    const report = await runFuzz({ requests: POSTGRES_REQUESTS, store });
    const statuses = new Set(Object.keys(report).map((line) => line.split(' ').at(-1)));
    for (const status of ['200', '201', '400', '401', '404']) {
      expect(statuses, `${status} among the answers`).toContain(status);
    }
  } finally {
    await postgres.remove();
  }
});

test('every answer to a random request is one that /openapi.json describes', async () => {
  const report = await runFuzz({ requests: REQUESTS });
  const statuses = new Set(
    Object.keys(report).map((line) =>
      line
        .split(' ')
        .at(-1)
        ?.replace(/^30[127]$/, '30x'),
    ),
  );
  // The run must see both successes and errors, or it tests half of the service.
  for (const status of ['200', '201', '30x', '400', '401', '403', '404', '405', '429']) {
    expect(statuses, `${status} among the answers`).toContain(status);
  }
});
