import { beforeEach, expect, test, vi } from 'vitest';
import { BATCH, entries, Fixture, LINKS, TARGET } from './fixture.ts';

let app: Fixture;
beforeEach(async () => {
  app = await Fixture.open();
});

const ENDPOINTS = [
  ['POST', LINKS],
  ['POST', BATCH],
  ['GET', '/api/v1/jobs/0190a000-0000-7000-8000-000000000000'],
  ['GET', '/api/v1/usage'],
] as const;

const BAD_KEYS = [
  ['missing', undefined],
  ['empty', ''],
  ['unknown', 'sl_unknown'],
  ['very long', 'x'.repeat(8_000)],
] as const;

test.each(
  ENDPOINTS.flatMap(([method, path]) =>
    BAD_KEYS.map(([name, key]) => [method, path, name, key] as const),
  ),
)('%s %s with a key that is %s is 401', async (method, path, _name, key) => {
  const headers = key === undefined ? {} : { 'X-Api-Key': key };
  const answer = await app.send(path, { method, headers });
  expect(answer.status).toBe(401);
  expect(answer.json).toMatchObject({
    error: expect.stringMatching(/API key/),
    code: 'unauthorized',
  });
  expect(answer.headers.get('www-authenticate')).toBe('ApiKey');
  expect(answer.headers.has('ratelimit')).toBe(false);
  expect(answer.text).not.toContain('sl_unknown');
});

test('a revoked key is 401 at once', async () => {
  const accountId = await app.account();
  const key = await app.key(accountId);
  const [stored] = await app.store.listKeys(accountId);
  expect((await app.get(key, '/api/v1/usage')).status).toBe(200);
  await app.store.revokeKey(stored?.id ?? '', app.now);
  expect((await app.get(key, '/api/v1/usage')).status).toBe(401);
});

/** A body of which the first half comes at once, and the second after `between`, a second or more later. */
function slowBody(text: string, between: () => Promise<unknown>): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  const half = Math.ceil(bytes.length / 2);
  return new ReadableStream({
    start: (controller) => controller.enqueue(bytes.slice(0, half)),
    pull: async (controller) => {
      await between();
      app.now += 1_000;
      controller.enqueue(bytes.slice(half));
      controller.close();
    },
  });
}

test.each([
  ['a link', LINKS, { target_url: TARGET }],
  ['a batch', BATCH, { links: entries(2) }],
  ['a job', BATCH, { links: entries(101) }],
  ['a look-up', `${LINKS}/lookup`, { links: [{ target_url: TARGET }] }],
])(
  '%s: the key is revoked, or the account disabled, while the body comes',
  async (_, path, body) => {
    const accountId = await app.account();
    const key = await app.key(accountId);
    const other = await app.key(accountId);
    const send = (between: () => Promise<unknown>) =>
      app.send(path, {
        method: 'POST',
        headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
        body: slowBody(JSON.stringify(body), between),
        duplex: 'half',
      });
    expect((await send(async () => undefined)).status).toBeLessThan(300);
    const used = await app.linksUsed(other);
    const disabling = { id: accountId, disabled: true, now: app.now };
    expect(await send(() => app.store.setAccountDisabled(disabling))).toMatchObject({
      status: 403,
    });
    await app.store.setAccountDisabled({ ...disabling, disabled: false });
    const [stored] = await app.store.listKeys(accountId);
    const revoke = () => app.store.revokeKey(stored?.id ?? '', app.now);
    expect(await send(revoke)).toMatchObject({ status: 401, json: { code: 'unauthorized' } });
    expect(await app.linksUsed(other)).toBe(used);
  },
);

test('requests that arrive together share the look-up of their key, and no others do', async () => {
  const key = await app.caller();
  const other = await app.caller();
  const findKey = vi.spyOn(app.store, 'findKeyByHash');
  const usage = (caller: string) => app.get(caller, '/api/v1/usage');
  const answers = await Promise.all([usage(key), usage(other), usage(key), usage('sl_unknown')]);
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 401]);
  expect(findKey).toHaveBeenCalledTimes(3);
  await new Promise((resolve) => setImmediate(resolve));
  await usage(key);
  expect(findKey).toHaveBeenCalledTimes(4);
});

test.each([
  [LINKS, { target_url: TARGET }],
  [BATCH, { links: entries(1) }],
  [BATCH, { links: entries(101) }],
])('POST %s with a key that lacks shortlinks:write is 403 without upgrade', async (path, body) => {
  const accountId = await app.account();
  const key = await app.key(accountId, 'analytics:read');
  const answer = await app.post(key, path, body);
  expect(answer.status).toBe(403);
  expect(answer.json).toEqual({
    error: expect.stringContaining('shortlinks:write'),
    code: 'forbidden',
  });
  expect(await app.linksUsed(key)).toBe(0);
});

test('the permission is checked before the body, the rate limit before the permission', async () => {
  const accountId = await app.account('custom', { requests_per_minute: 1 });
  const key = await app.key(accountId, 'analytics:read');
  expect((await app.post(key, LINKS, 'no json')).status).toBe(403);
  expect((await app.post(key, LINKS, 'no json')).status).toBe(429);
  expect((await app.post('sl_unknown', LINKS, 'no json')).status).toBe(401);
});

test('the body is checked before the plan limit', async () => {
  const key = await app.caller('custom', { links: 0, batch_size: 1 });
  expect((await app.post(key, LINKS, {})).status).toBe(400);
  expect((await app.post(key, BATCH, { links: [...entries(2), {}] })).status).toBe(400);
  expect((await app.post(key, LINKS, { target_url: TARGET })).status).toBe(403);
  expect((await app.post(key, BATCH, { links: entries(2) })).json.limit).toBe('batch_size');
});
