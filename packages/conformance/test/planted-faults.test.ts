import type { Permission } from '@shortlink/sdk/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../server/src/admin/keys.ts';
import { openSqliteStore } from '../../server/src/store/sqlite/index.ts';
import { startTestService } from '../../server/src/testing/test-service.ts';
import { runConformance, statements } from '../src/run.ts';
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

/** Found only with a batch of thousands of links. */
const NEEDS_LARGE_BATCHES = ['batch-maximum', 'batch-size'];

/** Found with single links and small batches. */
const ABOUT_LINKS = ['Links', 'POST /api/v1/links', 'Authentication', 'Version'];

/** Links for as much of a run as finds the fault: each of the larger batches costs as much as all the rest. */
function linksToFind(finds: string | undefined): { budgetLinks?: number } {
  if (finds === undefined || NEEDS_LARGE_BATCHES.includes(finds)) return {};
  const { section = '' } = statements.find(({ id }) => id === finds) ?? {};
  return { budgetLinks: ABOUT_LINKS.includes(section) ? 30 : 220 };
}

/** Runs the suite with an account of its own, through a fault. */
async function runOn(
  fault: Pick<PlantedFault, 'account' | 'limits' | 'plant'> & { finds?: string },
  isCoreOnly = true,
) {
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
  const budgetRequests = isCoreOnly ? 90 : 400;
  return runConformance({
    ...options,
    ...linksToFind(fault.finds),
    budgetRequests,
    readKey,
    domainIds,
  });
}

test('a server without a fault keeps every statement, and two accounts show all but what only an operator can', async () => {
  const shown = new Set<string>();
  for (const account of ['small', 'jobs'] as const) {
    const report = await runOn({ account, plant: (send) => send });
    const failing = report.verdicts.filter(({ result }) => result === 'fails');
    expect(failing.map(({ id, ...verdict }) => [account, id, verdict])).toEqual([]);
    expect(report.isPassed).toBe(true);
    for (const { id, result } of report.verdicts) if (result === 'holds') shown.add(id);
  }
  const core = statements.filter(({ isAddition }) => !isAddition).map(({ id }) => id);
  expect(core.filter((id) => !shown.has(id))).toEqual(['custom-limits']);
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
    const report = await runOn({ finds, plant }, false);
    const failing = report.verdicts.filter(
      ({ result, isAddition }) => isAddition && result === 'fails',
    );
    if (finds === 'none') expect(failing).toEqual([]);
    else expect(failing.map(({ id }) => id)).toContain(finds);
  },
);
