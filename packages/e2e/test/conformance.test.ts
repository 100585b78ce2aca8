import { runConformance, textReport } from '@shortlink/conformance';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { World } from '../src/world.ts';

let world: World;
// The conformance suite waits by moving the clock of the servers.
let now = Date.now();

beforeAll(async () => {
  world = await World.create({ hasMovableClock: true });
  await sleep(0);
});
afterAll(() => world[Symbol.asyncDispose]());

async function sleep(ms: number): Promise<void> {
  now += ms;
  await world.setClock({ now, runs: false });
  // Clicks are written by timers, which this clock doesn't move.
  if (ms === 1_000) await new Promise((resolve) => setTimeout(resolve, 300));
}

test.each([
  { plan: 'community', hidden: 12, requests: 90, links: 15 },
  { plan: 'avance', hidden: 4, requests: 300, links: 220 },
] as const)(
  'on $plan, no statement of the protocol fails, $hidden or fewer are not shown, and $requests requests are enough',
  async ({ plan, hidden, requests, links }) => {
    const { account, key: apiKey } = await world.caller(plan);
    const { key: readKey } = await world
      .key(account.id, 'analytics:read')
      .catch(() => ({ key: undefined }));
    const report = await runConformance({ baseUrl: world.server.url, apiKey, readKey, sleep });
    const failing = report.verdicts.filter(({ result }) => result === 'fails');
    expect(failing.map(({ id, ...verdict }) => [id, verdict])).toEqual([]);
    const notShown = report.verdicts.filter(
      (verdict) => verdict.result === 'not shown' && !verdict.isAddition,
    );
    expect(notShown.length, textReport(report)).toBeLessThanOrEqual(hidden);
    expect(report.requestsSent).toBeLessThanOrEqual(requests);
    expect(report.linksCreated).toBeLessThanOrEqual(links);
  },
);

test('several processes behind one port keep the protocol as one does', async () => {
  await using several = await World.create({ args: ['--workers', '2'], isAlone: true });
  const { key: apiKey } = await several.caller('custom');
  const report = await runConformance({ baseUrl: several.server.url, apiKey, isCoreOnly: true });
  const failing = report.verdicts.filter(({ result }) => result === 'fails');
  expect(failing.map(({ id, ...verdict }) => [id, verdict])).toEqual([]);
  expect(report.verdicts.filter(({ result }) => result === 'holds').length).toBeGreaterThan(30);
});
