import { setupServer } from 'msw/node';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createMswHandlers, type MswHandlers } from './msw.ts';

let service: MswHandlers;
const network = setupServer();
beforeAll(async () => {
  service = await createMswHandlers({ plan: 'community', baseUrl: 'https://api.sho.rt/' });
  network.use(...service.handlers);
  network.listen({ onUnhandledFrame: 'error' });
});
afterAll(async () => {
  network.close();
  await service.close();
});

const create = (target_url: string) =>
  fetch(`${service.url}/api/v1/links`, {
    method: 'POST',
    headers: { 'X-Api-Key': service.apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ target_url }),
  });

const linksOf = async () => {
  const headers = { 'X-Api-Key': service.apiKey };
  return JSON.parse(await (await fetch(`${service.url}/api/v1/usage`, { headers })).text()).links;
};

test('a client without a socket meets the service itself', async () => {
  const created = await create('https://example.com/docs');
  expect(created.status).toBe(201);
  const link = JSON.parse(await created.text());
  expect(link.short_url).toBe(`https://api.sho.rt/${link.code}`);
  const followed = await fetch(link.short_url, { redirect: 'manual' });
  expect(followed.headers.get('location')).toBe('https://example.com/docs');
  expect((await create('ftp://example.com')).status).toBe(400);
  const links = await linksOf();
  expect(links).toEqual({ used: 1, limit: 15 });
});

test('faults happen as scripted; a dropped connection is a network error after the work', async () => {
  service.faults.add({ fault: { kind: 'answer', status: 429, retryAfterSeconds: 2 } });
  const refused = await create('https://example.com/');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '2']);
  service.faults.add({ fault: { kind: 'drop', when: 'after' } });
  await expect(create('https://example.com/')).rejects.toThrow(TypeError);
  service.faults.add({ fault: { kind: 'drop', when: 'before' } });
  await expect(create('https://example.com/')).rejects.toThrow(TypeError);
  const links = await linksOf();
  expect(links.used).toBe(2);
});

test('a delay keeps the process running, which has no socket that would, until the service is closed', async () => {
  const started = vi.spyOn(globalThis, 'setTimeout');
  const other = await createMswHandlers({ faults: [{ fault: { kind: 'delay', ms: 54_321 } }] });
  const delayed = setupServer(...other.handlers);
  delayed.listen();
  fetch(other.url).catch(() => undefined);
  const timer = () => started.mock.results[started.mock.calls.findIndex(([, ms]) => ms === 54_321)];
  await expect.poll(() => timer()?.value.hasRef()).toBe(true);
  delayed.close();
  await other.close();
  expect(timer()?.value.hasRef()).toBe(false);
});
