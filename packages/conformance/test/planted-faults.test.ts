import type { Permission } from '@shortlink/sdk/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../server/src/admin/keys.ts';
import { openSqliteStore } from '../../server/src/store/sqlite/index.ts';
import { startTestService } from '../../server/src/testing/test-service.ts';
import { runConformance } from '../src/index.ts';
import type { SessionOptions } from '../src/session.ts';
import { ADDITION_FAULTS, FAULTS, type PlantedFault, type Send } from './faults.ts';

const PUBLIC_URL = 'https://sho.rt';

/** What only faults of the test service would need. */
const NO_SOCKET = { incoming: { socket: { destroy: () => undefined } } };

/** The connection of a session as one that a fault can wrap. */
function fetchThrough(plant: PlantedFault['plant']): NonNullable<SessionOptions['fetch']> {
  return async (url, init) => {
    const { origin, host } = new URL(url);
    const send: Send = async ({ method, path, headers, body }) => {
      const target = path.startsWith('/') ? origin + path : path;
      if (!target.startsWith(PUBLIC_URL)) throw new TypeError('fetch failed');
      const response = await service.answer(
        new Request(target, {
          method,
          headers,
          ...(method !== 'GET' && method !== 'HEAD' && { body }),
        }),
        NO_SOCKET,
      );
      return {
        status: response.status,
        // Node's server adds the time.
        headers: { date: new Date().toUTCString(), ...Object.fromEntries(response.headers) },
        body: await response.text(),
      };
    };
    const isApi = url.startsWith(`${origin}/api/`) && host !== '';
    const { status, headers, body } = await plant(send)({
      method: init.method ?? 'GET',
      path: isApi ? url.slice(origin.length) : url,
      headers: init.headers as Record<string, string>,
      body: typeof init.body === 'string' ? init.body : '',
    });
    const isEmpty = status === 204 || status === 304 || init.method === 'HEAD';
    return new Response(isEmpty ? null : body, { status, headers });
  };
}

/** The service without a socket: sixty runs of the suite send thousands of requests. */
let service: Awaited<ReturnType<typeof startTestService>>;
let now = Date.now();
beforeAll(async () => {
  const store = await openSqliteStore({ path: ':memory:', publicUrl: PUBLIC_URL });
  service = await startTestService(store, PUBLIC_URL, { now: () => now });
});
afterAll(() => service.subject.close());

const sleep = async (ms: number) => {
  now += ms;
  // Clicks are counted by the machine's own clock.
  await new Promise((resolve) => setTimeout(resolve, 25));
};

/** Runs the suite with an account of its own, through a fault. */
async function runOn(fault: Pick<PlantedFault, 'account' | 'limits' | 'plant'>, isCoreOnly = true) {
  const { store } = service.subject;
  const isSmall = fault.account === 'small';
  const plan = isSmall ? 'community' : 'avance';
  const account = await store.createAccount({
    name: 'test',
    plan,
    limits: fault.limits ?? {},
    now,
  });
  const newKey = async (permission: Permission) => {
    const input = { accountId: account.id, name: permission, permissions: [permission], now };
    return (await createKey(store, input)).key;
  };
  const apiKey = await newKey('shortlinks:write');
  const connection = { fetch: fetchThrough(fault.plant), sleep };
  const options = { baseUrl: PUBLIC_URL, apiKey, plan, isCoreOnly, ...connection } as const;
  if (isSmall) return runConformance(options);
  const domainIds: string[] = [];
  for (const name of ['one', 'two']) {
    const hostname = `${name}-${account.id.toLowerCase().replaceAll('_', '-')}.example`;
    const domain = await store.addDomain({ hostname, accountId: account.id, now });
    domainIds.push(domain?.id ?? '');
  }
  const readKey = await newKey('analytics:read');
  // Too few requests to see a rate limit, which faults of the small account are about.
  return runConformance({ ...options, readKey, domainIds, budgetRequests: isCoreOnly ? 90 : 400 });
}

test.each(['small', 'jobs'] as const)(
  'a server without a fault keeps every statement (%s account)',
  async (account) => {
    const report = await runOn({ account, plant: (send) => send });
    const failing = report.verdicts.filter(({ result }) => result === 'fails');
    expect(failing.map(({ id, ...verdict }) => [id, verdict])).toEqual([]);
    expect(report.isPassed).toBe(true);
  },
);

test('both accounts together show every statement but what only an operator can', async () => {
  const reports = await Promise.all(
    (['small', 'jobs'] as const).map((account) => runOn({ account, plant: (send) => send })),
  );
  const shown = new Set(
    reports.flatMap(({ verdicts }) =>
      verdicts.filter(({ result }) => result === 'holds').map(({ id }) => id),
    ),
  );
  const missing = reports[0]?.verdicts.filter(({ id }) => !shown.has(id)).map(({ id }) => id);
  expect(missing).toEqual(['custom-limits']);
});

test.each(FAULTS)('$name: $finds fails', async (fault) => {
  const report = await runOn(fault);
  const failing = report.verdicts.filter(({ result }) => result === 'fails');
  expect(failing.map(({ id }) => id)).toContain(fault.finds);
  expect(report.isPassed).toBe(false);
  for (const verdict of failing) {
    expect(verdict).toMatchObject({ reason: expect.stringMatching(/\S/) });
    if (verdict.id === fault.finds) expect(verdict.exchanges).not.toEqual([]);
  }
});

test.each([['none', undefined] as const, ...ADDITION_FAULTS])(
  'an addition that a server follows in another way fails: %s',
  async (finds, plant = (send) => send) => {
    const report = await runOn({ plant }, false);
    const failing = report.verdicts.filter(
      ({ result, isAddition }) => isAddition && result === 'fails',
    );
    if (finds === 'none') expect(failing).toEqual([]);
    else expect(failing.map(({ id }) => id)).toContain(finds);
  },
);
