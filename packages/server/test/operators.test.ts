import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { hashApiKey } from '../src/api-key.ts';
import { createService, type Service } from '../src/service.ts';
import { openPostgresStore } from '../src/store/postgres/index.ts';
import { usePostgres } from '../src/store/postgres/test-postgres.test-suite.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import { useDatabasePath } from '../src/store/sqlite/temp-database.test-suite.ts';
import type { Store } from '../src/store/store.ts';
import { addDomain, BATCH, entries, Fixture, LINKS, PUBLIC_URL, TARGET } from './fixture.ts';

const USAGE = '/api/v1/usage';
const HOUR_MS = 3_600_000;

describe('a disabled account', () => {
  let app: Fixture;
  let id: string;
  let key: string;
  beforeEach(async () => {
    app = await Fixture.open();
    id = await app.account('custom', { requests_per_minute: 3 });
    key = await app.key(id);
  });

  test('is 403 account_disabled wherever a key is asked for, and counted nowhere', async () => {
    await app.store.setAccountDisabled({ id, disabled: true, now: app.now });
    const use = vi.spyOn(app.store, 'recordKeyUse');
    for (let n = 0; n < 5; n += 1) {
      for (const response of [
        await app.post(key, LINKS, { target_url: TARGET }),
        await app.post(key, BATCH, { links: entries(2) }),
        await app.get(key, '/api/v1/jobs/0190a000-0000-7000-8000-000000000000'),
        await app.get(key, USAGE),
      ]) {
        expect(response.status).toBe(403);
        expect(response.json).toEqual({
          error: 'This account is disabled; ask the operator of the service.',
          code: 'account_disabled',
        });
      }
    }
    expect(use).not.toHaveBeenCalled();
    await app.store.setAccountDisabled({ id, disabled: false, now: app.now });
    const { json } = await app.get(key, USAGE);
    expect(json.requests.minute.used).toBe(0);
    expect(json.keys[0].history).toEqual([]);
    expect((await app.post(key, LINKS, { target_url: TARGET })).status).toBe(201);
  });

  test('has links that are 410 until it is enabled', async () => {
    const { code } = (await app.post(key, LINKS, { target_url: TARGET })).json;
    const follow = () => app.send(`/${code}`);
    expect((await follow()).status).toBe(302);
    await app.store.setAccountDisabled({ id, disabled: true, now: app.now });
    expect((await follow()).status).toBe(410);
    await app.store.setAccountDisabled({ id, disabled: false, now: app.now });
    expect((await follow()).status).toBe(302);
  });

  test('does not keep others from anything', async () => {
    const other = await app.caller();
    await app.store.setAccountDisabled({ id, disabled: true, now: app.now });
    expect((await app.post(other, LINKS, { target_url: TARGET })).status).toBe(201);
  });
});

test('a new plan and new limits hold from the next request on', async () => {
  const app = await Fixture.open();
  const id = await app.account('community');
  const key = await app.key(id);
  for (let n = 0; n < 15; n += 1) {
    expect((await app.post(key, LINKS, { target_url: TARGET })).status).toBe(201);
  }
  expect((await app.post(key, LINKS, { target_url: TARGET })).status).toBe(429);
  await app.store.updateAccount({ id, change: { plan: 'pro' } });
  expect((await app.post(key, LINKS, { target_url: TARGET })).status).toBe(201);
  await app.store.updateAccount({ id, change: { plan: 'custom', limits: { links: 16 } } });
  expect((await app.post(key, LINKS, { target_url: TARGET })).json).toMatchObject({
    code: 'plan_limit',
    used: 16,
    allowed: 16,
  });
});

test('a key works up to the moment it ends, then it is 401', async () => {
  const app = await Fixture.open();
  const id = await app.account();
  const [key, heir] = [await app.key(id), 'sl_heir'];
  const keyId = (await app.store.listKeys(id))[0]?.id ?? '';
  const rotation = { keyId, hash: hashApiKey(heir), graceMs: HOUR_MS, now: app.now };
  expect(await app.store.rotateKey(rotation)).toMatchObject({ ok: true });
  app.now += HOUR_MS - 1;
  expect((await app.get(key, USAGE)).status).toBe(200);
  app.now += 1;
  const expired = await app.get(key, USAGE);
  expect(expired.status).toBe(401);
  expect(expired.json).toEqual({ error: 'API key has expired.', code: 'unauthorized' });
  const lookUp = (by: string) => app.post(by, '/api/v1/links/lookup', { codes: ['x'] });
  expect((await lookUp(key)).json).toEqual(expired.json);
  expect((await lookUp(heir)).status).toBe(200);
  expect((await app.get(heir, USAGE)).status).toBe(200);
});

describe('the last use of a key', () => {
  test('is in the usage, whatever the key was used for', async () => {
    const app = await Fixture.open();
    const id = await app.account();
    const [writer, reader] = [await app.key(id), await app.key(id, 'analytics:read')];
    const uses = async () =>
      (await app.get(reader, USAGE)).json.keys.map(
        (key: { last_used_at?: string }) => key.last_used_at,
      );
    const first = new Date(app.now).toISOString();
    await app.get(reader, USAGE);
    await expect.poll(uses).toEqual([undefined, first]);
    app.now += 60_000;
    const second = new Date(app.now).toISOString();
    await app.post(writer, LINKS, {});
    await expect.poll(uses).toEqual([second, second]);
  });

  test('is written once a minute, and no request waits for it or fails with it', async () => {
    const app = await Fixture.open();
    const key = await app.caller();
    const recorded: number[] = [];
    app.store.recordKeyUse = (_, now) => {
      recorded.push(now);
      return new Promise(() => undefined);
    };
    const start = app.now;
    for (const elapsed of [0, 1, 59_999, 60_000, 60_001, 119_999, 120_000]) {
      app.now = start + elapsed;
      expect((await app.get(key, USAGE)).status).toBe(200);
    }
    expect(recorded.map((now) => now - start)).toEqual([0, 60_000, 120_000]);
    app.store.recordKeyUse = () => Promise.reject(new Error('database down'));
    app.now = start + 180_000;
    expect((await app.get(key, USAGE)).status).toBe(200);
  });

  test('is not that of a request which is refused for its key', async () => {
    const app = await Fixture.open();
    const id = await app.account();
    const key = await app.key(id);
    await app.store.setAccountDisabled({ id, disabled: true, now: app.now });
    await app.get(key, USAGE);
    expect((await app.store.listKeys(id))[0]?.last_used_at).toBeUndefined();
  });
});

test('a domain at the public URL, however it came there, does not stop the links of the default domain', async () => {
  const app = await Fixture.open();
  const accountId = await app.account();
  const key = await app.key(accountId);
  const { code } = (await app.post(key, LINKS, { target_url: TARGET })).json;
  await addDomain(app.store, { hostname: 'sho.rt', accountId, now: app.now });
  app.now += 60_000;
  expect((await app.send(`${PUBLIC_URL}/${code}`)).status).toBe(302);
});

describe.each(['SQLite', 'PostgreSQL'])('on another instance, within a second, on %s', (engine) => {
  const path = useDatabasePath();
  const postgres = engine === 'PostgreSQL' ? usePostgres() : undefined;
  let stores: Store[];
  let services: Service[];
  beforeEach(async () => {
    const url = await postgres?.newSchema();
    const open = () =>
      url === undefined
        ? openSqliteStore({ path: path(), publicUrl: PUBLIC_URL })
        : openPostgresStore({ url, publicUrl: PUBLIC_URL });
    // The second store is that of a command, in another process.
    stores = [await open(), await open()];
    services = stores.slice(0, 1).map((store) => createService({ store, publicUrl: PUBLIC_URL }));
    for (const service of services) await service.start();
  });
  afterEach(async () => {
    for (const service of services) await service.stop();
    for (const store of stores) await store.close();
  });

  test('links of a disabled account and of a removed domain stop, and come back', async () => {
    const [store, command] = stores;
    const [service] = services;
    if (store === undefined || command === undefined || service === undefined) throw new Error();
    const app = await Fixture.open({ store });
    const accountId = await app.account();
    const key = await app.key(accountId);
    const input = { hostname: 'go.example', accountId, now: Date.now() };
    const { id } = await addDomain(command, input);
    const own = (await app.post(key, LINKS, { target_url: TARGET })).json;
    const custom = (await app.post(key, LINKS, { target_url: TARGET, domain_id: id })).json;
    const statuses = () =>
      Promise.all(
        [own, custom].map(async ({ short_url }) => {
          const response = await service.fetch(new Request(short_url));
          return response.status;
        }),
      );
    const often = { interval: 20 };
    await expect.poll(statuses, often).toEqual([302, 302]);
    await command.setAccountDisabled({ id: accountId, disabled: true, now: Date.now() });
    await expect.poll(statuses, often).toEqual([410, 410]);
    await command.setAccountDisabled({ id: accountId, disabled: false, now: Date.now() });
    await expect.poll(statuses, often).toEqual([302, 302]);
    await command.removeDomain({ hostname: 'go.example', force: true, now: Date.now() });
    await expect.poll(statuses, often).toEqual([302, 410]);
    await command.addDomain(input);
    await expect.poll(statuses, often).toEqual([302, 302]);
  });
});
