import { expect, test, vi } from 'vitest';
import { Fixture, LINKS, TARGET } from './fixture.ts';

const USAGE = '/api/v1/usage';

/** The app, and a usage that responds to readings when they are released, with what was stored when they began. */
async function openWithSlowUsage() {
  const app = await Fixture.open();
  const { usage } = app.store;
  const waiting: (() => void)[] = [];
  const readings = vi.spyOn(app.store, 'usage').mockImplementation(async (...parameters) => {
    const read = await usage(...parameters);
    await new Promise<void>((resolve) => waiting.push(resolve));
    return read;
  });
  const release = async () => {
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    for (const resolve of waiting.splice(0)) resolve();
  };
  return { app, readings, waiting, release };
}

test('those who ask for the usage of an account at the same time share one reading', async () => {
  const app = await Fixture.open();
  const readings = vi.spyOn(app.store, 'usage');
  const accountId = await app.account('pro');
  const [writer, reader] = [await app.key(accountId), await app.key(accountId, 'analytics:read')];
  const keys = Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? writer : reader));
  const answers = await Promise.all(keys.map((key) => app.get(key, USAGE)));
  expect(readings).toHaveBeenCalledTimes(1);
  expect(answers.every(({ status }) => status === 200)).toBe(true);
  // Each key still sees only what it may.
  const seen = answers.map(({ json }) => json.top_links !== undefined);
  expect(seen).toEqual(keys.map((key) => key === reader));
});

test('those who ask while a reading runs share the next one, which shows what they did before', async () => {
  const { app, readings, waiting, release } = await openWithSlowUsage();
  const key = await app.caller('pro');
  const first = app.get(key, USAGE);
  await expect.poll(() => waiting.length).toBe(1);
  await app.post(key, LINKS, { target_url: TARGET });
  const others = Array.from({ length: 20 }, () => app.get(key, USAGE));
  await release();
  expect((await first).json.links.used).toBe(0);
  await release();
  for (const { json } of await Promise.all(others)) expect(json.links.used).toBe(1);
  expect(readings).toHaveBeenCalledTimes(2);
});

test('accounts do not wait for each other, and a reading that fails fails only those who share it', async () => {
  const { app, readings, waiting, release } = await openWithSlowUsage();
  const key = await app.caller('pro');
  const first = app.get(key, USAGE);
  await expect.poll(() => waiting.length).toBe(1);
  const second = app.get(key, USAGE);
  readings.mockRejectedValueOnce(new Error('away'));
  const other = await app.get(await app.caller('pro'), USAGE);
  expect(other.status).toBe(500);
  readings.mockRejectedValueOnce(new Error('away'));
  await release();
  expect((await first).status).toBe(200);
  expect((await second).status).toBe(500);
  const third = app.get(key, USAGE);
  await release();
  expect((await third).status).toBe(200);
});
