import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { World } from '../src/world.ts';

let world: World;
let key: string;

beforeAll(async () => {
  world = await World.create();
});
beforeEach(async () => {
  ({ key } = await world.caller('custom'));
});
afterAll(() => world[Symbol.asyncDispose]());

test('a job continues where it was after SIGKILL in the middle of it, exactly', async () => {
  const submit = async (batch: number) => {
    const links = Array.from({ length: 10_000 }, (_, i) => ({
      target_url: `https://example.com/${batch}/${i}`,
    }));
    const answer = await world.request(key, 'POST', '/api/v1/links/batch', { links });
    expect(answer.status).toBe(202);
    return { links, jobId: answer.json.job_id as string };
  };
  const batches = await Promise.all([0, 1, 2].map(submit));
  const isProcessing = async () => {
    // The newest first, and one at a time: one that has ended comes with its 10,000 results.
    for (const { jobId } of batches.toReversed()) {
      if ((await poll(jobId)).status === 'processing') return true;
    }
    return false;
  };
  // A test that was held up may find all of them finished.
  while (!(await isProcessing())) batches.push(await submit(batches.length));
  await world.server.stop('SIGKILL');

  await world.restart();
  for (const { links, jobId } of batches) {
    await expect.poll(async () => (await poll(jobId)).status).toBe('completed');
    const job = await poll(jobId);
    expect(job.results.map((item: { target_url: string }) => item.target_url)).toEqual(
      links.map((link) => link.target_url),
    );
    expect(new Set(job.results.map((item: { code: string }) => item.code)).size).toBe(10_000);
  }
  const usage = await world.request(key, 'GET', '/api/v1/usage');
  expect(usage.json.links.used).toBe(batches.length * 10_000);
});

test('SIGTERM finishes the requests in flight, keeps every click and exits 0', async () => {
  const { json: link } = await world.request(key, 'POST', '/api/v1/links', {
    target_url: 'https://example.com/',
  });
  for (let click = 0; click < 50; click++) await fetch(link.short_url, { redirect: 'manual' });
  const links = Array.from({ length: 100 }, (_, i) => ({ target_url: `https://example.com/${i}` }));
  const inFlight = Array.from({ length: 10 }, () =>
    world.request(key, 'POST', '/api/v1/links/batch', { links }),
  );
  await inFlight[0];
  const exit = world.server.stop('SIGTERM');
  const answers = await Promise.allSettled(inFlight);
  expect(await exit).toBe(0);
  const acknowledged = answers.filter(
    (answer) => answer.status === 'fulfilled' && answer.value.status === 200,
  ).length;
  expect(acknowledged).toBeGreaterThan(0);

  await world.restart();
  const usage = await world.request(key, 'GET', '/api/v1/usage');
  expect(usage.json.links.used).toBeGreaterThanOrEqual(1 + acknowledged * 100);
  const after = await world.linkByCode(link.code);
  expect(after.click_count).toBe(50);
});

test('the log is JSON lines and holds no key', async () => {
  await world.request(key, 'POST', '/api/v1/links', { target_url: 'https://example.com/' });
  await world.request('sl_wrong_key_value', 'GET', '/api/v1/usage');
  await world.server.stop();
  const lines = world.server.log().trim().split('\n');
  expect(lines.length).toBeGreaterThan(1);
  for (const line of lines) expect(() => JSON.parse(line), line).not.toThrow();
  expect(world.server.log()).not.toContain(key);
  expect(world.server.log()).not.toContain('sl_wrong_key_value');
});

async function poll(jobId: string) {
  const answer = await world.request(key, 'GET', `/api/v1/jobs/${jobId}`);
  expect(answer.status).toBe(200);
  return answer.json;
}
