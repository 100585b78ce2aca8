import type { Link, ProcessingBatch } from '@shortlink/sdk/wire';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  type FaultRule,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from './index.ts';

let server: TestServer;
afterEach(() => server.close());

async function start(options?: TestServerOptions) {
  server = await startTestServer(options);
}

const post = (path: string, body: unknown) =>
  fetch(server.url + path, {
    method: 'POST',
    headers: { 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
const createLink = () => post('/api/v1/links', { target_url: 'https://example.com/' });
const get = async (path: string) => {
  const response = await fetch(server.url + path, { headers: { 'X-Api-Key': server.apiKey } });
  return JSON.parse(await response.text());
};
const linksUsed = async () => (await get('/api/v1/usage')).links.used;

test('serves the whole service: creates, runs jobs, redirects, counts clicks', async () => {
  await start();
  const link: Link = JSON.parse(await (await createLink()).text());
  const redirect = await fetch(link.short_url, { redirect: 'manual' });
  expect(redirect.status).toBe(302);
  const clicks = async () => {
    const found = await post('/api/v1/links/lookup', { codes: [link.code] });
    return JSON.parse(await found.text()).results[0].links[0].click_count;
  };
  await expect.poll(clicks).toBe(1);

  const links = Array.from({ length: 1_200 }, () => ({ target_url: 'https://example.com/' }));
  const accepted = await (await post('/api/v1/links/batch', { links })).text();
  const { job_id }: ProcessingBatch = JSON.parse(accepted);
  await expect.poll(async () => (await get(`/api/v1/jobs/${job_id}`)).status).toBe('completed');
});

test('the plan and its limits are the account’s', async () => {
  await start({ plan: 'pro', limits: { links: 1 } });
  expect((await createLink()).status).toBe(201);
  const refused = await createLink();
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ upgrade: true, limit: 'links', allowed: 1 });
  expect(refused.headers.get('ratelimit-policy')).toContain('"minute";q=60');
});

test.each([
  [{ plan: 'Community' }, 'There is no plan Community: community, pro, avance, custom'],
  [{ limits: { rpm: 5 } }, 'There is no limit rpm: requests_per_minute, '],
  [{ limits: { api_keys: 0 } }, 'The account may have no key'],
  [{ limits: { links: -1 } }, 'The limit links is -1; expected a whole number, or null for none'],
  [{ limits: { batch_size: '5' } }, 'The limit batch_size is 5; expected a whole number'],
  [{ plans: 'pro' }, 'There is no option plans: plan, limits, permissions, faults, now'],
  [{ baseUrl: 'https://sho.rt' }, 'There is no option baseUrl'],
  [{ permissions: ['links:write'] }, 'There is no permission links:write: shortlinks:write, '],
])('%j is refused, and leaves no port open', async (options, words) => {
  const ports = () =>
    process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
  // That of the test before may be about to close.
  await expect.poll(ports).toBe(0);
  // As JavaScript without types may give them.
  const starting = start(options as TestServerOptions);
  await expect(starting).rejects.toThrow(words);
  await expect.poll(ports).toBe(0);
});

test('a limit that is undefined is that of the plan', async () => {
  await start({ plan: 'pro', limits: { links: undefined } } as object);
  expect((await get('/api/v1/usage')).links).toEqual({ used: 0, limit: 1_000 });
});

test.each([
  [{ fault: { kind: 'dropp' } }, 'There is no fault dropp: answer, drop, delay'],
  [{ kind: 'answer', status: 429 }, 'There is no fault undefined: answer, drop, delay'],
  [{ fault: { kind: 'answer' } }, 'status'],
  [{ fault: { kind: 'drop' } }, 'There is no moment undefined: before, after'],
  [{ fault: { kind: 'answer', status: 204 } }, 'status'],
  [{ methd: 'GET', fault: { kind: 'delay', ms: 1 } }, 'There is no field of a rule methd: fault, '],
  [{ fault: { kind: 'answer', status: 429, retryAfter: 1 } }, 'There is no field of answer retryA'],
  [{ fault: { kind: 'delay' } }, 'A delay needs its ms, 0 or more, not undefined'],
  [{ fault: { kind: 'delay', ms: 'x' } }, 'A delay needs its ms, 0 or more, not x'],
])('%j is no fault', async (rule, words) => {
  await start();
  expect(() => server.faults.add(rule as FaultRule)).toThrow(words);
  expect(server.faults.isPending).toBe(false);
  await expect(startTestServer({ faults: [rule as FaultRule] })).rejects.toThrow(words);
});

test('a scripted 429 carries its wait, happens once and does nothing', async () => {
  await start({ faults: [{ fault: { kind: 'answer', status: 429, retryAfterSeconds: 7 } }] });
  const refused = await createLink();
  expect(refused.status).toBe(429);
  expect(refused.headers.get('retry-after')).toBe('7');
  expect(await linksUsed()).toBe(0);
  expect(server.faults.isPending).toBe(false);
  expect((await createLink()).status).toBe(201);
});

test.each([
  ['before', 0],
  ['after', 1],
] as const)('a connection dropped %s processing leaves %i links', async (when, count) => {
  await start({ faults: [{ fault: { kind: 'drop', when } }] });
  await expect(createLink()).rejects.toThrow('fetch failed');
  expect(await linksUsed()).toBe(count);
  expect((await createLink()).status).toBe(201);
});

test('a delay holds the request back', async () => {
  await start({ faults: [{ fault: { kind: 'delay', ms: 150 } }] });
  const startedAt = performance.now();
  expect((await createLink()).status).toBe(201);
  expect(performance.now() - startedAt).toBeGreaterThan(140);
});

test('rules pick their requests by method, path, skip and times', async () => {
  await start();
  server.faults.add({
    method: 'post',
    // A global pattern remembers where it has matched.
    path: /batch$/g,
    skip: 1,
    times: 2,
    fault: { kind: 'answer', status: 503 },
  });
  expect((await createLink()).status).toBe(201);
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) {
    statuses.push((await post('/api/v1/links/batch', { links: [{}] })).status);
  }
  expect(statuses).toEqual([400, 503, 503, 400]);
});

test('a fault that is to happen 0 times does not happen, and does not wait to', async () => {
  await start({ faults: [{ times: 0, fault: { kind: 'answer', status: 503 } }] });
  expect(server.faults.isPending).toBe(false);
  expect((await createLink()).status).toBe(201);
});

test('closing cuts requests that wait', async () => {
  await start({ faults: [{ fault: { kind: 'delay', ms: 60_000 } }] });
  const pending = expect(createLink()).rejects.toThrow('fetch failed');
  await new Promise((resolve) => setTimeout(resolve, 50));
  await server.close();
  await pending;
});

test('it closes with open connections also where a test has replaced the timers', async () => {
  await start();
  // The connection stays open for another request.
  expect((await createLink()).status).toBe(201);
  const late = new Promise((resolve) => setTimeout(resolve, 15_000, 'late').unref());
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  expect(await Promise.race([server.close(), late])).toBeUndefined();
});

/** The `Response` of a DOM for tests, such as happy-dom, whose headers keep their names as they were written. */
class ResponseOfDom extends Response {
  constructor(body?: ConstructorParameters<typeof Response>[0], init: ResponseInit = {}) {
    super(body, init);
    const written = new Map(
      Object.keys(init.headers ?? {}).map((name) => [name.toLowerCase(), name]),
    );
    const { headers } = this;
    const entries = [...headers].map(([name, value]) => [written.get(name) ?? name, value]);
    Object.assign(headers, { [Symbol.iterator]: () => entries[Symbol.iterator]() });
  }
}

test('jobs and look-ups can be read where the DOM of a test keeps the names of headers', async () => {
  await start();
  vi.stubGlobal('Response', ResponseOfDom);
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  const links = Array(101).fill({ target_url: 'https://example.com/' });
  const accepted: ProcessingBatch = JSON.parse(
    await (await post('/api/v1/links/batch', { links })).text(),
  );
  expect(await get(`/api/v1/jobs/${accepted.job_id}`)).toMatchObject({ total: 101 });
  const found = await post('/api/v1/links/lookup', { codes: ['unknown'] });
  expect(await found.json()).toEqual({ results: [{ links: [], more: false }] });
});
