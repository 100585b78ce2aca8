import { beforeEach, describe, expect, test } from 'vitest';
import { BATCH, entries, Fixture, LINKS, TARGET } from './fixture.ts';

let app: Fixture;
let key: string;
beforeEach(async () => {
  app = await Fixture.open();
  key = await app.caller();
});

const DAY_MS = 86_400_000;
const withKey = (idempotencyKey: string) => ({ 'Idempotency-Key': idempotencyKey });

describe.each([
  ['a link', LINKS, { target_url: TARGET }, 201, 1],
  ['a batch', BATCH, { links: entries(3) }, 200, 3],
  ['a job', BATCH, { links: entries(101) }, 202, 101],
] as const)('%s', (_name, path, body, status, count) => {
  test('sent again with its key gets the same answer and creates nothing', async () => {
    const first = await app.post(key, path, body, withKey('k1'));
    expect(first.status).toBe(status);
    app.now += DAY_MS - 1;
    const again = await app.post(key, path, body, withKey('k1'));
    expect(again.status).toBe(status);
    expect(again.json).toEqual(first.json);
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect(await app.linksUsed(key)).toBe(count);
  });

  test('sent again with its key gets the same answer, also where the rules refuse it by now', async () => {
    const first = await app.post(key, path, body, withKey('k1'));
    const stricter = await Fixture.open({
      store: app.store,
      targetHosts: { allow: ['other.example'], deny: [] },
    });
    const again = await stricter.post(key, path, body, withKey('k1'));
    expect(again.status).toBe(status);
    expect(again.json).toEqual(first.json);
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    for (const headers of [{}, withKey('k2')]) {
      expect((await stricter.post(key, path, body, headers)).status).toBe(400);
    }
    const other = { ...body, title: 'other', tags: ['x'] };
    expect((await stricter.post(key, path, other, withKey('k1'))).status).toBe(400);
    stricter.now += DAY_MS;
    expect((await stricter.post(key, path, body, withKey('k1'))).status).toBe(400);
    expect(await app.linksUsed(key)).toBe(count);
  });

  test('with another key is another one', async () => {
    const first = await app.post(key, path, body, withKey('k1'));
    const second = await app.post(key, path, body, withKey('k2'));
    expect(second.status).toBe(status);
    expect(second.json).not.toEqual(first.json);
    expect(await app.linksUsed(key)).toBe(2 * count);
  });
});

test('the same key with another body, or on the other endpoint, is 422', async () => {
  const body = { target_url: TARGET, links: entries(1) };
  expect((await app.post(key, LINKS, body, withKey('k'))).status).toBe(201);
  for (const [path, other] of [
    [LINKS, { ...body, title: 'other' }],
    [BATCH, body],
  ] as const) {
    const { status, json } = await app.post(key, path, other, withKey('k'));
    expect(status).toBe(422);
    expect(json).toEqual({ error: expect.any(String), code: 'idempotency_conflict' });
  }
  expect(await app.linksUsed(key)).toBe(1);
});

test('a refused request leaves its key free', async () => {
  expect((await app.post(key, LINKS, {}, withKey('k'))).status).toBe(400);
  expect((await app.post(key, LINKS, { target_url: TARGET }, withKey('k'))).status).toBe(201);
});

test('keys belong to the account', async () => {
  const body = { target_url: TARGET };
  const first = await app.post(key, LINKS, body, withKey('k'));
  const stranger = await app.post(await app.caller(), LINKS, body, withKey('k'));
  expect(stranger.status).toBe(201);
  expect(stranger.json.id).not.toBe(first.json.id);
});

test('quoted and bare are the same key', async () => {
  const body = { target_url: TARGET };
  const bare = await app.post(key, LINKS, body, withKey('8e03-a b'.replace(' ', '_')));
  const quoted = await app.post(key, LINKS, body, withKey('"8e03-a_b"'));
  expect(quoted.json).toEqual(bare.json);
});

test.each(['', '""', '"open', 'a b', `"${'x'.repeat(256)}"`, 'x'.repeat(256), '"a"b"'])(
  'the key %j is 400',
  async (bad) => {
    const { status, json } = await app.post(key, LINKS, { target_url: TARGET }, withKey(bad));
    expect(status).toBe(400);
    expect(json.error).toMatch(/Idempotency-Key/);
    expect(await app.linksUsed(key)).toBe(0);
  },
);

test('a duplicate while the first is running is 409 with Retry-After; then it replays', async () => {
  const { createLink } = app.store;
  let finish: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    finish = resolve;
  });
  app.store.createLink = async (request) => {
    await held;
    return createLink.call(app.store, request);
  };
  const body = { target_url: TARGET };
  const first = app.post(key, LINKS, body, withKey('k'));
  await new Promise((resolve) => setTimeout(resolve, 20));
  const duplicate = await app.post(key, LINKS, body, withKey('k'));
  expect(duplicate.status).toBe(409);
  expect(duplicate.json.code).toBe('idempotency_conflict');
  expect(duplicate.headers.get('retry-after')).toBe('1');
  finish();
  expect((await first).status).toBe(201);
  expect((await app.post(key, LINKS, body, withKey('k'))).json).toEqual((await first).json);
  expect(await app.linksUsed(key)).toBe(1);
});

test('50 duplicates at once make one link', async () => {
  const body = { target_url: TARGET };
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => app.post(key, LINKS, body, withKey('k'))),
  );
  const created = answers.filter((answer) => answer.status === 201);
  expect(new Set(created.map((answer) => answer.json.id)).size).toBe(1);
  expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
  expect(await app.linksUsed(key)).toBe(1);
});

test('requests without a key are never duplicates, also while another one of the account is running', async () => {
  const { createLink } = app.store;
  const both = Promise.withResolvers<void>();
  let running = 0;
  app.store.createLink = async (request) => {
    running += 1;
    if (running === 2) both.resolve();
    await both.promise;
    return createLink.call(app.store, request);
  };
  const create = async () => {
    const { status } = await app.post(key, LINKS, { target_url: TARGET });
    both.resolve();
    return status;
  };
  expect(await Promise.all([create(), create()])).toEqual([201, 201]);
});
