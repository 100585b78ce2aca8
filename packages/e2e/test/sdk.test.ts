import {
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  PermissionError,
  PlanLimitError,
  RateLimitError,
  Shortlink,
} from '@shortlink/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { World } from '../src/world.ts';

let world: World;
beforeAll(async () => {
  world = await World.create();
});
afterAll(() => world[Symbol.asyncDispose]());

const client = (apiKey: string, options = {}) =>
  new Shortlink({ apiKey, baseUrl: world.server.url, ...options });

test('creates a link, a small batch and a job, and waits for it', async () => {
  const { key } = await world.caller('custom');
  const shortlink = client(key);
  const link = await shortlink.links.create({
    target_url: 'https://example.com/docs',
    tags: ['docs'],
  });
  expect(link).toMatchObject({
    target_url: 'https://example.com/docs',
    tags: ['docs'],
    click_count: 0,
  });

  const small = await shortlink.links.createBatch({
    links: [{ target_url: 'https://example.com/1' }],
  });
  expect(small.status === 'completed' && small.results[0]?.target_url).toBe(
    'https://example.com/1',
  );

  const links = Array.from({ length: 5_000 }, (_, i) => ({
    target_url: `https://example.com/${i}`,
  }));
  const large = await shortlink.links.createBatch({ links });
  if (large.status !== 'processing') throw new Error('5,000 links are a job');
  const progress: number[] = [];
  const job = await shortlink.jobs.wait(large.job_id, {
    onProgress: (polled) => progress.push(polled.processed),
  });
  expect(job).toMatchObject({ status: 'completed', processed: 5_000 });
  expect(progress.at(-1)).toBe(5_000);
  expect(await shortlink.jobs.retrieve(large.job_id)).toMatchObject({ id: large.job_id });
});

test('createMany sends any iterable in batches and yields in order', async () => {
  const { key } = await world.caller('avance');
  async function* source() {
    for (let i = 0; i < 5_500; i++) yield { target_url: `https://example.com/${i}` };
  }
  let index = 0;
  for await (const item of client(key).links.createMany(source())) {
    expect(item).toMatchObject({
      index,
      outcome: 'created',
      input: { target_url: `https://example.com/${index}` },
    });
    index++;
  }
  expect(index).toBe(5_500);
});

test('every refusal is its own error', async () => {
  const { account, key } = await world.caller('pro', {});
  const shortlink = client(key);
  await expect(
    client('sl_wrong').links.create({ target_url: 'https://example.com' }),
  ).rejects.toBeInstanceOf(AuthenticationError);
  const reader = await world.key(account.id, 'analytics:read');
  await expect(
    client(reader.key).links.create({ target_url: 'https://example.com' }),
  ).rejects.toBeInstanceOf(PermissionError);
  await expect(shortlink.links.create({ target_url: 'nonsense' })).rejects.toBeInstanceOf(
    BadRequestError,
  );
  await expect(shortlink.jobs.retrieve('unknown')).rejects.toBeInstanceOf(NotFoundError);
  const links = Array.from({ length: 101 }, () => ({ target_url: 'https://example.com/' }));
  const refused = await shortlink.links.createBatch({ links }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(PlanLimitError);
  expect(refused).toMatchObject({ limit: 'batch_size', used: 101, allowed: 100, status: 403 });
});

test('a long Retry-After fails at once with the wait in the error', async () => {
  const { key } = await world.caller('custom', { rpd: 1 });
  const shortlink = client(key, { maxRetryAfterMs: 0 });
  await shortlink.links.create({ target_url: 'https://example.com' });
  const refused = await shortlink.links
    .create({ target_url: 'https://example.com' })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RateLimitError);
  expect(refused).toMatchObject({ status: 429 });
  if (refused instanceof RateLimitError) expect(refused.retryAfterMs).toBeGreaterThan(0);
});

test('a lost POST with idempotency creates one link', async () => {
  const { key } = await world.caller('custom');
  const lossy: typeof fetch = (() => {
    let calls = 0;
    return async (input, init) => {
      const response = await fetch(input, init);
      if (calls++ > 0) return response;
      await response.arrayBuffer();
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
      });
    };
  })();
  const link = await client(key, { idempotency: true, fetch: lossy }).links.create({
    target_url: 'https://example.com/once',
  });
  expect(link.target_url).toBe('https://example.com/once');
  expect((await world.request(key, 'GET', '/api/v1/usage')).json.links.used).toBe(1);
});
