import type { Permission } from '@shortlink/sdk/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Answer, BATCH, entries, Fixture, LINKS, TARGET } from './fixture.ts';

const USAGE = '/api/v1/usage';
const LOOKUP = '/api/v1/links/lookup';

/** What belongs to an account, and somebody who may or may not use it. */
interface World {
  app: Fixture;
  jobId: string;
  domainId: string;
}

const endpoints = {
  'create a link': ({ app }: World, key: string) => app.post(key, LINKS, { target_url: TARGET }),
  'create a link on the domain': ({ app, domainId }: World, key: string) =>
    app.post(key, LINKS, { target_url: TARGET, domain_id: domainId }),
  'create a batch': ({ app }: World, key: string) => app.post(key, BATCH, { links: entries(2) }),
  'create a batch on the domain': ({ app, domainId }: World, key: string) =>
    app.post(key, BATCH, { domain_id: domainId, links: entries(2) }),
  'create an entry on the domain': ({ app, domainId }: World, key: string) =>
    app.post(key, BATCH, { links: [{ target_url: TARGET, domain_id: domainId }] }),
  'send a job': ({ app }: World, key: string) => app.post(key, BATCH, { links: entries(101) }),
  'poll the job': ({ app, jobId }: World, key: string) => app.get(key, `/api/v1/jobs/${jobId}`),
  'look a target up': ({ app }: World, key: string) =>
    app.post(key, LOOKUP, { links: [{ target_url: TARGET }] }),
  'look a target up on the domain': ({ app, domainId }: World, key: string) =>
    app.post(key, LOOKUP, { links: [{ target_url: TARGET, domain_id: domainId }] }),
  'see the usage': ({ app }: World, key: string) => app.get(key, USAGE),
} satisfies Record<string, (world: World, key: string) => Promise<Answer>>;
type Endpoint = keyof typeof endpoints;

const callers = [
  'owner',
  'owner, reading',
  'stranger',
  'stranger, reading',
  'revoked',
  'nobody',
] as const;

/** The status of every endpoint for every caller, in the order of {@link callers}. */
const EXPECTED: Record<Endpoint, readonly number[]> = {
  'create a link': [201, 403, 201, 403, 401, 401],
  'create a link on the domain': [201, 403, 400, 403, 401, 401],
  'create a batch': [200, 403, 200, 403, 401, 401],
  'create a batch on the domain': [200, 403, 400, 403, 401, 401],
  'create an entry on the domain': [200, 403, 400, 403, 401, 401],
  'send a job': [202, 403, 202, 403, 401, 401],
  'poll the job': [200, 200, 404, 404, 401, 401],
  'look a target up': [200, 200, 200, 200, 401, 401],
  'look a target up on the domain': [200, 200, 200, 200, 401, 401],
  'see the usage': [200, 200, 200, 200, 401, 401],
};

let world: World;
let keys: Record<(typeof callers)[number], string>;
let owner: string;

beforeEach(async () => {
  const app = await Fixture.open();
  owner = await app.account();
  const stranger = await app.account();
  const reading: Permission = 'analytics:read';
  keys = {
    owner: await app.key(owner),
    'owner, reading': await app.key(owner, reading),
    stranger: await app.key(stranger),
    'stranger, reading': await app.key(stranger, reading),
    revoked: await app.key(owner),
    nobody: 'sl_0000000000000000000000000000000000000000000',
  };
  const revoked = (await app.store.listKeys(owner)).at(-1);
  await app.store.revokeKey(revoked?.id ?? '', app.now);
  const domain = await app.store.addDomain({
    hostname: 'go.example',
    accountId: owner,
    now: app.now,
  });
  const job = await app.post(keys.owner, BATCH, { links: entries(101) });
  await app.runJob(job.json.job_id);
  world = { app, jobId: job.json.job_id, domainId: domain?.id ?? '' };
});

const cases = Object.entries(EXPECTED).flatMap(([endpoint, statuses]) =>
  callers.map((caller, n) => ({ endpoint, caller, status: statuses[n] ?? 0 })),
);

describe.each(cases)('$endpoint as $caller', ({ endpoint, caller, status }) => {
  test(`is ${status}, and no refusal changes or shows anything`, async () => {
    const used = () => world.app.linksUsed(keys.owner);
    const before = await used();
    const answer = await endpoints[endpoint as Endpoint](world, keys[caller]);
    expect(answer.status).toBe(status);
    if (status < 400) return;
    expect(await used()).toBe(before);
    for (const secret of [owner, 'go.example', TARGET]) expect(answer.text).not.toContain(secret);
  });
});

test.each(['create a link', 'create a batch', 'send a job'] as const)(
  'without the permission, to %s counts, and a quota that is used up comes first',
  async (endpoint) => {
    const account = await world.app.account('custom', { requests_per_minute: 1 });
    const key = await world.app.key(account, 'analytics:read');
    expect((await endpoints[endpoint](world, key)).status).toBe(403);
    expect((await endpoints[endpoint](world, key)).status).toBe(429);
  },
);

test('a foreign job and domain are answered like ones that never were', async () => {
  const { app, jobId, domainId } = world;
  const answers = async (job: string, domain: string) =>
    Promise.all([
      app.get(keys.stranger, `/api/v1/jobs/${job}`),
      app.post(keys.stranger, LINKS, { target_url: TARGET, domain_id: domain }),
      app.post(keys.stranger, BATCH, { domain_id: domain, links: entries(1) }),
      app.post(keys.stranger, LOOKUP, { links: [{ target_url: TARGET, domain_id: domain }] }),
    ]).then((all) => all.map(({ status, json }) => ({ status, json })));
  const own = { target_url: TARGET, domain_id: domainId };
  expect((await app.post(keys.owner, LINKS, own)).status).toBe(201);
  const unknown = await answers('0190a000-0000-7000-8000-000000000000', 'dom_unknown');
  expect(await answers(jobId, domainId)).toEqual(unknown);
  expect(unknown.at(-1)?.json).toEqual({ results: [{ links: [], more: false }] });
});

test('the usage of a stranger shows nothing of the owner', async () => {
  const { text } = await world.app.get(keys.stranger, USAGE);
  for (const { id } of await world.app.store.listKeys(owner)) expect(text).not.toContain(id);
});
