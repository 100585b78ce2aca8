import { Hono } from 'hono';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Problem } from '../domain/problem.ts';
import type { CallerEnv } from './context.ts';
import { largeResponses } from './large-responses.ts';

const PIECE = new Uint8Array(40);

test('what all accounts together do not read is bounded', async () => {
  const sendLarge = largeResponses('look-ups', 4, 100);
  const app = new Hono<CallerEnv>();
  app.get('/:account', (c) => {
    c.set('caller', { accountId: c.req.param('account') } as CallerEnv['Variables']['caller']);
    return sendLarge(c, async () => ({ bytes: PIECE.length, pieces: [PIECE].values() }));
  });
  app.onError((error, c) => c.text(error.message, error instanceof Problem ? 503 : 500));

  const [first, second] = await Promise.all([app.request('/a'), app.request('/b')]);
  const third = await app.request('/c');
  expect([first?.status, second?.status, third.status]).toEqual([200, 200, 503]);
  expect(await third.text()).toContain('try again');
  // What is read, or given up, makes room again.
  expect((await first?.arrayBuffer())?.byteLength).toBe(PIECE.length);
  await expect.poll(async () => (await app.request('/c')).status).toBe(200);
  expect((await app.request('/d')).status).toBe(503);
  await second?.body?.cancel();
  await expect.poll(async () => (await app.request('/d')).status).toBe(200);
});

test('a response that was read is not kept until its client would be cut off', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const sendLarge = largeResponses('polls', 1);
  const app = new Hono<CallerEnv>();
  app.get('/', (c) => {
    c.set('caller', { accountId: 'a' } as CallerEnv['Variables']['caller']);
    return sendLarge(c, async () => ({ bytes: PIECE.length, pieces: [PIECE].values() }));
  });
  const response = await app.request('/');
  expect(vi.getTimerCount()).toBe(1);
  await response.arrayBuffer();
  expect(vi.getTimerCount()).toBe(0);
});

test('a client has a minute for each piece, however long it takes for all of them', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const sendLarge = largeResponses('polls', 1);
  const app = new Hono<CallerEnv>();
  const pieces = [PIECE, PIECE, PIECE];
  app.get('/', (c) => {
    c.set('caller', { accountId: 'a' } as CallerEnv['Variables']['caller']);
    return sendLarge(c, async () => ({ bytes: 3 * PIECE.length, pieces: pieces.values() }));
  });
  const reader = (await app.request('/')).body?.getReader();
  for (const piece of pieces) {
    vi.advanceTimersByTime(59_999);
    expect(await reader?.read()).toEqual({ done: false, value: piece });
  }
  expect(await reader?.read()).toMatchObject({ done: true });
});

test('a response that fails in the middle lets the next one of its account begin', async () => {
  const sendLarge = largeResponses('polls', 1);
  const app = new Hono<CallerEnv>();
  const failing = { next: () => Promise.reject(new Error('lost')) };
  app.get('/:pieces', (c) => {
    c.set('caller', { accountId: 'a' } as CallerEnv['Variables']['caller']);
    const pieces = c.req.param('pieces') === 'lost' ? failing : [PIECE].values();
    return sendLarge(c, async () => ({ bytes: PIECE.length, pieces }));
  });
  const lost = await app.request('/lost');
  await expect(lost.arrayBuffer()).rejects.toThrow('lost');
  const next = await app.request('/whole');
  expect((await next.arrayBuffer()).byteLength).toBe(PIECE.length);
});

test('what is being made counts before it is whole, and makes room again where that fails', async () => {
  const sendLarge = largeResponses('look-ups', 4, 100);
  const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
  const app = new Hono<CallerEnv>();
  app.get('/:account', (c) => {
    const account = c.req.param('account');
    c.set('caller', { accountId: account } as CallerEnv['Variables']['caller']);
    return sendLarge(c, async (take) => {
      take(30);
      await isRead;
      if (account === 'broken') throw new Error('The store is broken.');
      return { bytes: PIECE.length, pieces: [PIECE].values() };
    });
  });
  app.onError((error, c) => c.text(error.message, error instanceof Problem ? 503 : 500));

  const made = ['broken', 'a', 'b'].map((account) => app.request(`/${account}`));
  expect((await app.request('/c')).status).toBe(503);
  read();
  expect((await Promise.all(made)).map(({ status }) => status)).toEqual([500, 200, 200]);
  // Those two have 80 of 100.
  expect((await app.request('/c')).status).toBe(503);
  await (await made[1])?.arrayBuffer();
  await expect.poll(async () => (await app.request('/c')).status).toBe(200);
});
