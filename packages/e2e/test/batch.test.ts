import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, World } from '../src/world.ts';

const BATCH = '/api/v1/links/batch';
let world: World;
let key: string;

beforeAll(async () => {
  world = await World.create();
  ({ key } = await world.caller('custom'));
});
afterAll(() => world[Symbol.asyncDispose]());

const targets = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    target_url: `https://example.com/batch/${i}`,
    title: `row ${i}`,
  }));

test.each([1, 100])('%i links are answered at once', async (count) => {
  const links = targets(count);
  const answer = await world.request(key, 'POST', BATCH, { links });
  expect(answer.status).toBe(200);
  expect(answer.json).toMatchObject({ status: 'completed', total: count });
  expectResults(answer.json.results, links);
});

test.each([101, 10_000])('%i links become a job that is polled to its end', async (count) => {
  const links = targets(count);
  const answer = await world.request(key, 'POST', BATCH, { links });
  expect(answer.status).toBe(202);
  expect(answer.json).toEqual({
    job_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/),
    status: 'processing',
    total: count,
  });
  const seen: number[] = [];
  const job = await pollToEnd(answer.json.job_id, (poll) => {
    expect(poll.json.results).toHaveLength(poll.json.processed);
    seen.push(poll.json.processed);
  });
  expect(job).toMatchObject({
    id: answer.json.job_id,
    status: 'completed',
    total: count,
    processed: count,
  });
  expect(seen).toEqual([...seen].sort((a, b) => a - b));
  expectResults(job.results, links);
  const [first] = job.results;
  const redirect = await fetch(first.short_url, { redirect: 'manual' });
  expect(redirect.headers.get('location')).toBe(first.target_url);
});

test('10,001 links are refused and nothing is created', async () => {
  const before = await used();
  const answer = await world.request(key, 'POST', BATCH, { links: targets(10_001) });
  expect(answer.status).toBe(400);
  expect(answer.json.error).toMatch(/10,?000/);
  expect(await used()).toBe(before);
});

test('one bad entry refuses the whole batch and says which', async () => {
  const before = await used();
  const links: object[] = targets(500);
  links[120] = { target_url: 'not a url' };
  links[400] = { target_url: 'https://example.com/', tags: [1] };
  const answer = await world.request(key, 'POST', BATCH, { links });
  expect(answer.status).toBe(400);
  expect(answer.json.error).toContain('120');
  expect(answer.json.details.map((detail: { index: number }) => detail.index)).toEqual([120, 400]);
  expect(await used()).toBe(before);
});

test('details stop at 100 entries', async () => {
  const links = Array.from({ length: 300 }, () => ({ target_url: '' }));
  const answer = await world.request(key, 'POST', BATCH, { links });
  expect(answer.json.details).toHaveLength(100);
});

test('a job of another account is 404', async () => {
  const answer = await world.request(key, 'POST', BATCH, { links: targets(101) });
  const stranger = await world.caller('custom');
  expect(
    (await world.request(stranger.key, 'GET', `/api/v1/jobs/${answer.json.job_id}`)).status,
  ).toBe(404);
});

async function pollToEnd(jobId: string, onPoll: (poll: Answer) => void) {
  for (let polls = 0; polls < 600; polls++) {
    const poll = await world.request(key, 'GET', `/api/v1/jobs/${jobId}`);
    expect(poll.status).toBe(200);
    onPoll(poll);
    if (poll.json.status === 'completed') return poll.json;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the job did not end');
}

function expectResults(
  results: { target_url: string; code: string; short_url: string }[],
  links: readonly { target_url: string }[],
): void {
  expect(results.map((item) => item.target_url)).toEqual(links.map((link) => link.target_url));
  expect(new Set(results.map((item) => item.code)).size).toBe(links.length);
  for (const item of results) expect(item.short_url).toBe(`${world.server.url}/${item.code}`);
}

async function used(): Promise<number> {
  return (await world.request(key, 'GET', '/api/v1/usage')).json.links.used;
}
