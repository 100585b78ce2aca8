import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  CannotRunError,
  type ConformanceOptions,
  htmlReport,
  junitReport,
  runConformance,
  statements,
  textReport,
} from '../src/index.ts';
import { jsonReport } from '../src/reports/text.ts';
import { TinyService } from './tiny-service.ts';

const baseUrl = 'https://tiny.example';
const COMMUNITY = { minute: 15, links: 15, batch: 100 };
const AVANCE = { minute: 120, links: 6_000, batch: 5_000 };

function run(service: TinyService, options: Partial<Parameters<typeof runConformance>[0]> = {}) {
  const { fetch, sleep, apiKey } = service;
  return runConformance({ baseUrl, apiKey, fetch, sleep, ...options });
}

const idsOf = (report: Awaited<ReturnType<typeof run>>, result: string) =>
  report.verdicts
    .filter((verdict) => verdict.result === result && !verdict.isAddition)
    .map(({ id }) => id);

test('the statements are those of the protocol page, word by word', () => {
  const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');
  const core = page.slice(page.indexOf('## What every client'), page.indexOf('## Additions'));
  const expected: [string, string][] = [];
  let section = '';
  for (const line of core.split('\n')) {
    if (line.startsWith('### ')) section = line.slice(4).replace('&lt;', '<');
    const text = /^- (.*?)\\?$/.exec(line)?.[1];
    if (text !== undefined) expected.push([section, text.replaceAll('&lt;', '<')]);
  }
  expect(expected).toHaveLength(48);
  const ours = statements.filter(({ isAddition }) => !isAddition);
  expect(ours.map(({ section: heading, text }) => [heading, text])).toEqual(expected);
});

test('each statement has an id of its own', () => {
  expect(new Set(statements.map(({ id }) => id)).size).toBe(statements.length);
});

test('a service written from the protocol alone fails nothing', async () => {
  const small = await run(new TinyService(COMMUNITY), { plan: 'community' });
  expect(
    small.verdicts.filter(({ result, isAddition }) => result === 'fails' && !isAddition),
  ).toEqual([]);
  expect(small.requestsSent).toBeLessThanOrEqual(90);
  expect(textReport(small)).toContain(`: ${idsOf(small, 'holds').length} hold, 0 fail,`);
  expect(small.linksCreated).toBeLessThanOrEqual(15);
  const large = await run(new TinyService(AVANCE), { plan: 'avance' });
  expect(idsOf(large, 'fails')).toEqual([]);
  expect(large.requestsSent).toBeLessThanOrEqual(300);
  const shown = new Set([...idsOf(small, 'holds'), ...idsOf(large, 'holds')]);
  const missing = idsOf(small, 'not shown').filter((id) => !shown.has(id));
  // Each needs what the protocol has no request for, a second key, or domains.
  expect(missing).toEqual([
    'click-counter',
    'custom-domain',
    'batch-text-kept',
    'batch-domain',
    'write-permission',
    'number-of-keys',
    'requests-per-day',
    'keys-of-plan',
    'custom-limits',
    'usage-of-keys',
  ]);
  expect(small.isPassed && large.isPassed).toBe(true);
});

test('a service that follows the additions differently passes all the same', async () => {
  const report = await run(new TinyService(AVANCE), { plan: 'avance' });
  const additions = report.verdicts.filter(({ isAddition }) => isAddition);
  expect(additions.some(({ result }) => result === 'fails')).toBe(true);
  expect(report.isPassed).toBe(true);
});

test('budgets hold, and what they leave out is not shown', async () => {
  const report = await run(new TinyService(AVANCE), {
    plan: 'avance',
    budgetRequests: 20,
    budgetLinks: 5,
  });
  expect(report.requestsSent).toBeLessThanOrEqual(20);
  expect(report.linksCreated).toBeLessThanOrEqual(5);
  expect(idsOf(report, 'fails')).toEqual([]);
  const reasons = report.verdicts.map((verdict) => ('reason' in verdict ? verdict.reason : ''));
  expect(reasons).toContain('needs more requests: --budget-requests');
  expect(reasons).toContain('needs 101 links more: --budget-links');
  const least = await run(new TinyService(AVANCE), { budgetRequests: 10, budgetLinks: 2 });
  expect(least).toMatchObject({ requestsSent: 10, linksCreated: 2 });
});

/** Responses of a service, as `change` makes them. Those that it leaves alone stay as they are. */
function changing(
  service: TinyService,
  change: (of: {
    url: string;
    status: number;
    body: Record<string, unknown>;
  }) => object | undefined,
): TinyService['fetch'] {
  return async (url, init) => {
    const response = await service.fetch(url, init);
    const { status, headers } = response;
    const body = await response.clone().json();
    const changed = change({ url, status, body });
    return changed === undefined ? response : Response.json(changed, { status, headers });
  };
}

test.each([
  ['two links have one code', 'synchronous-batch', 'two results have one code', { code: 'same' }],
  ['a job never ends', 'job-states', 'after 30 polls', { status: 'processing' }],
])('%s: that fails', async (_, id, reason, fields) => {
  const service = new TinyService(AVANCE);
  const fetch = changing(service, ({ url, body }) => {
    if ('status' in fields) return url.includes('/jobs/') ? { ...body, ...fields } : undefined;
    const { results } = body;
    if (!Array.isArray(results)) return undefined;
    const short_url = 'https://tiny.example/r/same';
    return { ...body, results: results.map((item) => ({ ...item, ...fields, short_url })) };
  });
  const report = await run(service, { plan: 'avance', fetch });
  const verdict = report.verdicts.find((one) => one.id === id);
  expect(verdict).toMatchObject({ result: 'fails', reason: expect.stringContaining(reason) });
});

test('a fault of the service is no refusal', async () => {
  const service = new TinyService(COMMUNITY);
  const fetch: typeof service.fetch = async (url, init) => {
    const response = await service.fetch(url, init);
    return response.status < 400 ? response : Response.json({ error: 'Oops.' }, { status: 500 });
  };
  const report = await run(service, { fetch });
  expect(idsOf(report, 'fails')).toEqual(expect.arrayContaining(['target-required', 'poll-path']));
});

test.each<[stated: (string | undefined)[], slept: number[]]>([
  [
    ['90', undefined],
    [90_000, 60_000],
  ],
  [
    [undefined, '5'],
    [60_000, 60_000],
  ],
])(
  'a 429 is waited for as long as it says, a minute where it says nothing, and the second time a minute at least: %j',
  async (stated, expected) => {
    const service = new TinyService(COMMUNITY);
    const waits = [...stated];
    const slept: number[] = [];
    const fetch: typeof service.fetch = async (url, init) => {
      if (waits.length === 0) return service.fetch(url, init);
      const wait = waits.shift();
      const headers = new Headers(wait === undefined ? {} : { 'Retry-After': wait });
      return Response.json({ error: 'Later.' }, { status: 429, headers });
    };
    const sleep = (ms: number) => {
      slept.push(ms);
      return service.sleep(ms);
    };
    await run(service, { fetch, sleep, isCoreOnly: true });
    expect(slept.slice(0, 2)).toEqual(expected);
  },
);

test('options win over what the service says, and leave out what they say', async () => {
  const service = new TinyService(COMMUNITY);
  const fetch: typeof service.fetch = async (url, init) =>
    url.endsWith('/usage') ? Response.json({ plan: 'avance' }) : service.fetch(url, init);
  const order: string[] = [];
  const report = await run(service, {
    ...{ fetch, baseUrl: `${baseUrl}/api/v1/`, plan: 'community', isCoreOnly: true },
    ...{ readKey: 'e', onVerdict: ({ id }) => order.push(id) },
  });
  expect(report).toMatchObject({ baseUrl, plan: 'community' });
  expect(report.verdicts.some(({ isAddition }) => isAddition)).toBe(false);
  // Too short to be a secret, and a part of most words.
  expect(JSON.stringify(report.verdicts.map(({ text }) => text))).not.toContain('<API_KEY>');
  expect(JSON.stringify(report)).toContain('<ANOTHER_KEY>');
  // What looks back at all exchanges comes after those that use up a limit.
  const runs = order.map((id) => statements.find((one) => one.id === id)?.runs);
  expect(runs.lastIndexOf('late')).toBeLessThan(runs.indexOf('last'));
});

test('a request has a time limit', async () => {
  const fetch: TinyService['fetch'] = (_, { signal }) =>
    new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  const running = run(new TinyService(COMMUNITY), { fetch, timeoutMs: 10 });
  const late = new Promise((resolve) => setTimeout(resolve, 15_000, 'late').unref());
  await expect(Promise.race([running, late])).rejects.toThrow('got no response');
});

test('a budget of links holds where a service takes what it should refuse', async () => {
  const service = new TinyService(AVANCE);
  const report = await run(service, { plan: 'pro', budgetLinks: 20 });
  expect(report.linksCreated).toBeLessThanOrEqual(20);
  const verdict = report.verdicts.find(({ id }) => id === 'batch-size');
  expect(verdict).toMatchObject({ result: 'not shown' });
  const endless = { plan: 'community', budgetLinks: 15 } as const;
  const large = await run(new TinyService({ ...COMMUNITY, links: 1_000 }), endless);
  expect(large.linksCreated).toBeLessThanOrEqual(15);
  const unbounded = await run(new TinyService({ ...AVANCE, batch: 10_000, links: 10_000 }), {
    plan: 'avance',
  });
  expect(idsOf(unbounded, 'fails')).toEqual(['batch-size']);
  expect(unbounded.linksCreated).toBeGreaterThan(5_001);
  const reasons = unbounded.verdicts.map((each) => ('reason' in each ? each.reason : ''));
  expect(reasons).not.toContain('needs 0 links more: --budget-links');
});

test('a budget of links holds where responses are lost, after which links may exist', async () => {
  const service = new TinyService(AVANCE);
  let created = 0;
  const fetch: typeof service.fetch = async (url, init) => {
    const { status } = await service.fetch(url, init);
    if (init.method === 'POST' && status === 200) created += 1;
    throw new TypeError('reset');
  };
  const beginning: typeof service.fetch = (url, init) =>
    (url.endsWith('/usage') ? service.fetch : fetch)(url, init);
  const report = await run(service, { plan: 'avance', budgetLinks: 5, fetch: beginning });
  expect(created).toBeLessThanOrEqual(5);
  const reasons = report.verdicts.map((verdict) => ('reason' in verdict ? verdict.reason : ''));
  expect(reasons).toContain('needs 1 links more: --budget-links');
});

test('a budget of links holds where a service creates links and says that it failed', async () => {
  const service = new TinyService(AVANCE);
  let created = 0;
  const fetch: typeof service.fetch = async (url, init) => {
    const response = await service.fetch(url, init);
    if (init.method !== 'POST' || response.status >= 300) return response;
    created += 1;
    return Response.json({ error: 'Oops.' }, { status: 500 });
  };
  const report = await run(service, { plan: 'avance', budgetLinks: 5, fetch });
  expect(created).toBe(5);
  expect(idsOf(report, 'fails')).toContain('link-fields');
});

test('links that a service creates in place of a replay are counted', async () => {
  const service = new TinyService(AVANCE);
  let created = 0;
  const fetch: typeof service.fetch = async (url, init) => {
    if (url.endsWith('/usage')) return Response.json({ features: ['idempotency'] });
    const response = await service.fetch(url, init);
    if (url.endsWith('/links') && response.status === 200) created += 1;
    return response;
  };
  const options = { plan: 'avance', fetch } as const;
  const { linksCreated } = await run(service, { ...options, budgetLinks: 30 });
  // Batches of two and three links.
  expect(linksCreated).toBe(created + 5);
});

test('the link of a replay is counted once', async () => {
  const service = new TinyService(AVANCE);
  const kept = new Map<string, { body: unknown; text: string }>();
  let created = 0;
  const fetch: typeof service.fetch = async (url, init) => {
    if (url.endsWith('/usage')) return Response.json({ features: ['idempotency'] });
    const key = new Headers(init.headers).get('Idempotency-Key') ?? '';
    const earlier = kept.get(key);
    if (earlier !== undefined && earlier.body !== init.body) {
      return Response.json({ error: 'Another body.' }, { status: 422 });
    }
    if (earlier !== undefined) return new Response(earlier.text);
    const response = await service.fetch(url, init);
    if (!url.endsWith('/links') || response.status !== 200) return response;
    created += 1;
    const text = await response.text();
    if (key !== '') kept.set(key, { body: init.body, text });
    return new Response(text);
  };
  const report = await run(service, { plan: 'avance', budgetLinks: 30, fetch });
  expect(kept.size).toBe(1);
  // Batches of two and three links.
  expect(report.linksCreated).toBe(created + 5);
});

test('a short URL that can not be visited from here shows nothing of the click counter', async () => {
  const service = new TinyService(AVANCE);
  const fetch: typeof service.fetch = async (url, init) => {
    if (url.endsWith('/usage')) return Response.json({ features: ['lookup'] });
    if (url.includes('/r/')) throw new TypeError('fetch failed', { cause: new Error('no host') });
    return service.fetch(url, init);
  };
  const report = await run(service, { plan: 'avance', fetch });
  const verdict = report.verdicts.find(({ id }) => id === 'click-counter');
  expect(verdict).toMatchObject({
    result: 'not shown',
    reason: expect.stringContaining('got no response: no host'),
  });
});

test('a job may take minutes', async () => {
  const service = new TinyService(AVANCE);
  let acceptedAt: number | undefined;
  const fetch = changing(service, ({ url, body }) => {
    if (!url.includes('/jobs/') || body['status'] === undefined) return undefined;
    acceptedAt ??= service.now;
    const isRunning = service.now < acceptedAt + 180_000;
    return isRunning ? { ...body, status: 'processing', processed: 0, results: [] } : undefined;
  });
  const report = await run(service, { plan: 'avance', fetch });
  expect(idsOf(report, 'fails')).toEqual([]);
  expect(idsOf(report, 'holds')).toContain('job-states');
});

/** A service whose jobs take as long as `processed` says, a count of the seconds since a job was accepted. */
function withSlowJobs(
  service: TinyService,
  processed: (seconds: number) => number,
  headers: Record<string, string>,
): TinyService['fetch'] {
  let acceptedAt: number | undefined;
  return async (url, init) => {
    const response = await service.fetch(url, init);
    const body = await response.clone().json();
    if (!url.includes('/jobs/') || body.status === undefined) return response;
    acceptedAt ??= service.now;
    const count = processed((service.now - acceptedAt) / 1_000);
    if (count >= 101) return response;
    return Response.json({ ...body, status: 'processing', processed: count }, { headers });
  };
}

test('a poll waits as long as the service asks for', async () => {
  const service = new TinyService(AVANCE);
  const fetch = withSlowJobs(service, (seconds) => (seconds < 500 ? 0 : 101), {
    'Retry-After': '60',
  });
  const report = await run(service, { plan: 'avance', fetch });
  expect(idsOf(report, 'fails')).toEqual([]);
  expect(idsOf(report, 'holds')).toContain('job-states');
});

test('a job that proceeds slowly is not shown, and one that stops fails', async () => {
  const slow = new TinyService(AVANCE);
  const proceeding = withSlowJobs(slow, (seconds) => Math.floor(seconds / 20), {});
  const report = await run(slow, { plan: 'avance', fetch: proceeding });
  expect(idsOf(report, 'fails')).toEqual([]);
  const verdict = report.verdicts.find(({ id }) => id === 'job-states');
  expect(verdict).toMatchObject({
    result: 'not shown',
    reason: expect.stringMatching(/^the job has processed \d+ of 101 links after 30 polls$/),
  });
  const stuck = new TinyService(AVANCE);
  const stopping = withSlowJobs(stuck, (seconds) => Math.min(100, Math.floor(seconds)), {});
  const stopped = await run(stuck, { plan: 'avance', fetch: stopping });
  expect(idsOf(stopped, 'fails')).toContain('job-states');
});

test('a job is not polled for hours, whatever wait the service asks for', async () => {
  const service = new TinyService(AVANCE);
  const fetch = withSlowJobs(service, () => 0, { 'Retry-After': '86400' });
  const before = service.now;
  const report = await run(service, { plan: 'avance', fetch });
  expect(idsOf(report, 'fails')).toContain('job-states');
  expect(service.now - before).toBeLessThan(20 * 60_000);
});

test.each([',', '’', '\u00a0', '\u202f'])('a message may state thousands with %j', async (mark) => {
  const service = new TinyService(COMMUNITY);
  let isRefused = false;
  const fetch: typeof service.fetch = async (url, init) => {
    if (url.endsWith('/usage')) {
      return Response.json({ plan: 'custom', requests: { minute: { limit: 1_000 } } });
    }
    if (isRefused) return service.fetch(url, init);
    isRefused = true;
    const body = { error: `Your plan allows 1${mark}000 requests per minute.` };
    return Response.json(body, { status: 429, headers: { 'Retry-After': '7' } });
  };
  const report = await run(service, { fetch });
  const verdict = report.verdicts.find(({ id }) => id === 'rate-message');
  expect(verdict).toMatchObject({ result: 'holds' });
});

test('a service that is over its quota for the day is not waited for', async () => {
  const service = new TinyService(COMMUNITY);
  const isFirst = { sent: 0 };
  const fetch: typeof service.fetch = async (url, init) => {
    isFirst.sent += 1;
    if (isFirst.sent < 10) return service.fetch(url, init);
    const body = { error: 'At most 100 requests per day.' };
    return Response.json(body, { status: 429, headers: { 'Retry-After': '40000' } });
  };
  const sleep = (ms: number) => {
    expect(ms).toBeLessThanOrEqual(90_000);
    return service.sleep(ms);
  };
  const report = await run(service, { plan: 'community', fetch, sleep });
  expect(idsOf(report, 'fails')).toEqual([]);
  const reasons = report.verdicts.map((verdict) => ('reason' in verdict ? verdict.reason : ''));
  expect(reasons).toContain('needs a wait of 40000 s: --max-wait');
});

test('a second refusal in a row is waited for a whole minute, if that is allowed', async () => {
  const service = new TinyService(COMMUNITY);
  let sent = 0;
  const fetch: typeof service.fetch = async (url, init) => {
    sent += 1;
    if (sent < 10) return service.fetch(url, init);
    const body = { error: 'At most 15 requests per minute.' };
    return Response.json(body, { status: 429, headers: { 'Retry-After': '1' } });
  };
  const report = await run(service, {
    plan: 'community',
    fetch,
    sleep: service.sleep,
    maxWaitMs: 30_000,
  });
  const reasons = report.verdicts.map((verdict) => ('reason' in verdict ? verdict.reason : ''));
  expect(reasons).toContain('needs a wait of 60 s: --max-wait');
});

test.each([
  ['a key that is not accepted', { apiKey: 'other' }, 'does not accept the API key'],
  [
    'a service that is not there',
    { fetch: () => Promise.reject(new TypeError('fetch failed', { cause: new Error('refused') })) },
    'got no response: refused',
  ],
])('%s can not be checked', async (_, options, message) => {
  const running = run(new TinyService(COMMUNITY), options);
  await expect(running).rejects.toThrow(CannotRunError);
  await expect(running).rejects.toThrow(message);
});

test.each([
  [404, {}, 'has no POST /api/v1/links (404). Is the address right?'],
  [405, {}, 'has no POST /api/v1/links (405). Is the address right?'],
  [308, { Location: 'https://other.example/' }, 'redirects to "https://other.example/" (308).'],
])(
  'an address that leads elsewhere is no service to check: %i',
  async (status, headers, message) => {
    let sent = 0;
    const fetch: TinyService['fetch'] = async () => {
      sent += 1;
      return new Response('<h1>Elsewhere</h1>', { status, headers });
    };
    const running = run(new TinyService(COMMUNITY), { fetch });
    await expect(running).rejects.toThrow(CannotRunError);
    await expect(running).rejects.toThrow(message);
    expect(sent).toBe(2);
  },
);

test('a page that is redirected is told so, though it can not see where', async () => {
  const fetch: TinyService['fetch'] = async () => Response.error();
  const running = run(new TinyService(COMMUNITY), { fetch });
  await expect(running).rejects.toThrow(`${baseUrl} redirects. Give the address`);
});

test.each([
  [undefined, 'baseUrl is nothing; expected an http or https address'],
  [{}, 'baseUrl is nothing; expected an http or https address'],
  [{ baseUrl: 'tiny.example' }, 'baseUrl is "tiny.example"; expected an http or https address'],
  [{ baseUrl: `${baseUrl}/?key=1` }, 'expected an http or https address without query'],
  [{ baseUrl }, 'apiKey is nothing; expected a string'],
  [{ baseUrl, apiKey: '' }, 'apiKey is ""; expected a string'],
  [{ baseUrl, apiKey: 'key', plan: 'toString' }, 'plan is "toString"; expected one of community,'],
  [{ baseUrl, apiKey: 'key', budgetLinks: '5' }, 'budgetLinks is "5"; expected a number'],
  [{ baseUrl, apiKey: 'key', timeoutMs: -1 }, 'timeoutMs is -1; expected a number'],
  [{ baseUrl, apiKey: 'key', fetch: 5 }, 'fetch is 5; expected a function'],
  [
    { baseUrl, apiKey: 'key', expected: 'created-at' },
    'expected is "created-at"; expected an array',
  ],
  [{ baseUrl, apiKey: 'key', budget: 5 }, 'There is no option budget.'],
])('%j are no options of a run', async (options, message) => {
  const running = runConformance(options as ConformanceOptions);
  await expect(running).rejects.toThrow(TypeError);
  await expect(running).rejects.toThrow(message);
});

/** A service whose other paths are a page, whatever the key is, as that of a proxy or of a framework. */
function withPages(
  service: TinyService,
  page: (method?: string) => Response,
): TinyService['fetch'] {
  return async (url, init) => {
    const { pathname } = new URL(url);
    const isKnown = /^\/api\/v1\/(links|links\/batch|jobs\/.+)$/.test(pathname);
    return isKnown ? service.fetch(url, init) : page(init.method);
  };
}
const notFound = () => new Response('<h1>404 Not Found</h1>', { status: 404 });
const welcome = (method?: string) =>
  method === 'GET' ? new Response('<h1>Welcome</h1>') : notFound();

test('a key that only a create shows to be wrong can not be checked', async () => {
  const service = new TinyService(COMMUNITY);
  const fetch = withPages(service, notFound);
  const wrong = run(service, { fetch, apiKey: 'other' });
  await expect(wrong).rejects.toThrow('does not accept the API key (401)');
  const forbidding: typeof fetch = async (url, init) =>
    init.method === 'POST'
      ? Response.json({ error: `${service.apiKey} lacks shortlinks:write.` }, { status: 403 })
      : fetch(url, init);
  const readOnly = run(service, { fetch: forbidding });
  await expect(readOnly).rejects.toThrow(CannotRunError);
  await expect(readOnly).rejects.toThrow(
    'create no link (403): "<API_KEY> lacks shortlinks:write."',
  );
});

test.each([
  ['an error page', notFound],
  ['a page', welcome],
  ['a page for every method', () => welcome('GET')],
  ['a request to sign in', () => Response.json({ error: 'Sign in first.' }, { status: 401 })],
])('%s where the protocol has no path fails nothing', async (_, page) => {
  const service = new TinyService(COMMUNITY);
  const fetch = withPages(service, page);
  const tooLarge: typeof fetch = async (url, init) =>
    String(init.body).length > 256 * 1024
      ? new Response('<h1>413</h1>', { status: 413 })
      : fetch(url, init);
  const report = await run(service, { plan: 'community', fetch: tooLarge });
  expect(idsOf(report, 'fails')).toEqual([]);
});

test('an account that is full shows nothing of idempotency', async () => {
  const service = new TinyService({ ...COMMUNITY, links: 0 });
  const fetch: typeof service.fetch = async (url, init) =>
    url.endsWith('/usage')
      ? Response.json({ features: ['idempotency'] })
      : service.fetch(url, init);
  const report = await run(service, { plan: 'community', fetch });
  const verdict = report.verdicts.find(({ id }) => id === 'idempotent-replay');
  expect(verdict).toMatchObject({ result: 'not shown', reason: 'the plan has no room for it' });
});

test('a connection that is lost in the middle fails what needed it, and the run goes on', async () => {
  const service = new TinyService(COMMUNITY);
  let sent = 0;
  const fetch: typeof service.fetch = (url, init) => {
    sent += 1;
    return sent === 8 ? Promise.reject(new TypeError('reset')) : service.fetch(url, init);
  };
  const report = await run(service, { plan: 'community', fetch });
  expect(idsOf(report, 'fails')).not.toEqual([]);
  expect(idsOf(report, 'holds').length).toBeGreaterThan(25);
  expect(report.isPassed).toBe(false);
});

test('a known failure is expected; one that holds again, or that nobody knows, is stale', async () => {
  const service = new TinyService(COMMUNITY);
  const fetch: typeof service.fetch = async (url, init) => {
    const response = await service.fetch(url, init);
    if (response.status !== 400) return response;
    return Response.json(await response.json(), { status: 422 });
  };
  const options = { plan: 'community', fetch } as const;
  const unexpected = await run(service, options);
  expect(idsOf(unexpected, 'fails')).toEqual(['invalid-target']);
  expect(unexpected.isPassed).toBe(false);
  const fresh = () => Object.assign(new TinyService(COMMUNITY));
  const expected = await run(fresh(), { plan: 'community', expected: ['created-at'] });
  expect(expected).toMatchObject({ stale: ['created-at'], isPassed: false });
  const unknown = await run(fresh(), { plan: 'community', expected: ['no-such-statement'] });
  expect(unknown).toMatchObject({ stale: ['no-such-statement'], isPassed: false });
  // A file that is no list, such as an earlier report with colors.
  const colored = textReport({ ...unknown, stale: ['\u001b[31mno list'] });
  expect(colored).toContain('" [31mno list" is expected to fail');
  const other = new TinyService(COMMUNITY);
  const wrapped: typeof other.fetch = async (url, init) => {
    const response = await other.fetch(url, init);
    return response.status === 400
      ? Response.json(await response.json(), { status: 422 })
      : response;
  };
  const known = await run(other, {
    plan: 'community',
    fetch: wrapped,
    expected: ['invalid-target'],
  });
  expect(known).toMatchObject({ stale: [], isPassed: true });
  const junit = junitReport(known);
  expect(junit).toContain('name="protocol" tests="48" failures="0"');
  expect(junit).not.toContain('<failure');
  expect(junitReport(expected)).toContain('"created-at"><failure message="is expected to fail');
  expect(textReport(known)).toContain('fails, as expected');
});

test('reports show what a hostile service sends as text, and never the key', async () => {
  const service = new TinyService(COMMUNITY);
  const error =
    '</pre><script>alert(1)</script>\u001b[2J\u009b2J\u202e\uffff\nx Forged line [json-bodies]';
  const fetch: typeof service.fetch = async (url, init) => {
    const response = await service.fetch(url, init);
    if (response.status === 422) return new Response(error, { status: 422 });
    if (response.status === 400) return Response.json({ error }, { status: 422 });
    const body = await response.clone().json();
    if (!('created_at' in body)) return response;
    return Response.json({ ...body, created_at: '"><script>alert(1)</script>' });
  };
  const report = await run(service, { plan: 'community', fetch });
  const [text, html, junit] = [textReport(report), htmlReport(report), junitReport(report)];
  for (const output of [text, html, junit, JSON.stringify(report)]) {
    expect(output).not.toContain(service.apiKey);
    expect(output).not.toContain('\u001b');
  }
  const json = jsonReport(report);
  expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(report)));
  expect(json).not.toMatch(/[\u009b\u202e]/);
  expect(json).toContain('\\u009b2J');
  expect(html).not.toContain('<script');
  expect(junit).not.toContain('<script');
  expect(junit).toContain('created_at is &quot;');
  // XML has no such character, and who reads the report for CI would stop at it.
  expect(junit).not.toContain('\uffff');
  expect(text).not.toContain('\u202e');
  expect(text).not.toMatch(/^x Forged/m);
});

test('what a hostile service names as an address, as a wait or as a reason commands no terminal', async () => {
  const service = new TinyService(COMMUNITY);
  const evil = 'https://tiny.example/\u001b]0;title\u0007\u009b31m\u202e/';
  const fetch: typeof service.fetch = async (url, init) => {
    // Visits of short URLs have no key.
    const isVisit = url.startsWith(evil.slice(0, 30));
    const response = isVisit
      ? Response.json({}, { status: 200, headers: { 'Retry-After': '\u009b31m' } })
      : await service.fetch(url, init);
    const body = await response.clone().json();
    if (body.short_url === undefined) return response;
    return Response.json({ ...body, short_url: evil + body.code });
  };
  const text = textReport(await run(service, { plan: 'community', fetch }));
  expect(text).toContain('HEAD https://tiny.example/');
  expect(text).toContain('Retry-After:');
  expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
  const error = 'No.\u009b31m\u202e\u2028x';
  const forbidding = async () => Response.json({ error }, { status: 403 });
  const refused = run(service, { fetch: forbidding });
  await expect(refused).rejects.toThrow(String.raw`"No.\u009b31m\u202e\u2028x"`);
});

test('of a failure with many exchanges, the text has the last three', async () => {
  const exchanges = [1, 2, 3, 4].map((n) => ({
    request: { method: 'GET', path: `/${n}`, headers: {}, body: '' },
    response: { status: 200, headers: {}, body: '' },
  }));
  const failure = { result: 'fails', reason: 'no', exchanges, isExpected: false } as const;
  const verdicts = [{ id: 'x', section: 'Links', text: 'A link is one.', ...failure }];
  const cost = { requestsSent: 4, linksCreated: 0, isPassed: false, stale: [] };
  const about = { protocolVersion: '1', baseUrl, plan: undefined };
  const paths = textReport({ ...about, ...cost, verdicts }).match(/GET \/\d/g);
  expect(paths).toEqual(['GET /2', 'GET /3', 'GET /4']);
});

test('a report never has a key, though the service quotes it', async () => {
  const service = new TinyService(AVANCE);
  const readKey = 'a-key-that-only-reads';
  const fetch: typeof service.fetch = async (url, init) => {
    const response = await service.fetch(url, init);
    const key = new Headers(init.headers).get('x-api-key') ?? '';
    const body = { ...JSON.parse(await response.text()), error: `for ${key}`, key };
    return Response.json(body, { status: response.status, headers: { 'X-Key': key } });
  };
  const report = await run(service, { plan: 'avance', fetch, readKey });
  for (const text of [JSON.stringify(report), htmlReport(report), textReport(report)]) {
    expect(text).not.toContain(service.apiKey);
    expect(text).not.toContain(readKey);
  }
  const failed = run(service, {
    fetch: () => Promise.reject(new Error(`bad ${readKey}`)),
    readKey,
  });
  await expect(failed).rejects.toThrow('got no response: bad <API_KEY>');
});

/** A service whose links are on the host of their domain, and whose default host is the first one. */
function withDomains(service: TinyService): TinyService['fetch'] {
  return async (url, init) => {
    const response = await service.fetch(url, init);
    const sent = init.body ? JSON.parse(String(init.body)) : {};
    const { status, headers } = response;
    const domainOf = new Map<string, string | undefined>();
    for (const link of sent.links ?? [sent]) {
      domainOf.set(link.target_url, link.domain_id ?? sent.domain_id);
    }
    const moved = JSON.stringify(await response.json(), (_, value) => {
      const domain = domainOf.get(value?.target_url);
      if (domain === undefined || typeof value?.short_url !== 'string') return value;
      return { ...value, short_url: value.short_url.replace('tiny', domain) };
    });
    return new Response(moved, { status, headers });
  };
}

/** A service whose codes begin with a letter that addresses can only have percent-encoded. */
const withUmlauts = (service: TinyService) =>
  changing(service, ({ body }) =>
    JSON.parse(
      JSON.stringify(body, (name, value) => {
        if (name === 'code') return `ü${value}`;
        return name === 'short_url' ? value.replace('/r/', '/r/%C3%BC') : value;
      }),
    ),
  );

const withoutContentType =
  (service: TinyService): TinyService['fetch'] =>
  async (url, init) => {
    const response = await service.fetch(url, init);
    const headers = new Headers(response.headers);
    headers.delete('content-type');
    return new Response(await response.bytes(), { status: response.status, headers });
  };

const withUsage =
  (usage: object) =>
  (service: TinyService): TinyService['fetch'] =>
  async (url, init) =>
    url.endsWith('/usage') ? Response.json(usage) : service.fetch(url, init);

const withSecondVersion =
  (service: TinyService): TinyService['fetch'] =>
  (url, init) =>
    service.fetch(url.replace('/api/v2/', '/api/v1/'), init);

const withoutUpgrade = (service: TinyService) =>
  changing(service, ({ status, body }) =>
    status >= 400 ? { upgrade: false, ...body } : undefined,
  );

/** Its day ends after some requests, and its 429 states the requests per minute as every 429 does. */
const withShortDay =
  (requests: number) =>
  (service: TinyService): TinyService['fetch'] => {
    let passed = 0;
    return async (url, init) => {
      const response = await service.fetch(url, init);
      if (response.status !== 429) passed += 1;
      if (passed <= requests) return response;
      const body = { error: 'At most 15 requests per minute.' };
      return Response.json(body, { status: 429, headers: { 'Retry-After': '40000' } });
    };
  };

test.each<[string, (service: TinyService) => TinyService['fetch'], Partial<ConformanceOptions>?]>([
  ['a usage of another form', withUsage({ plan: 'community', usage: { day: 4 } })],
  ['responses without Content-Type', withoutContentType],
  ['codes that are percent-encoded in addresses', withUmlauts],
  ['results in another order than the links', withDomains, { domainIds: ['one', 'two'] }],
  ['a second version', withSecondVersion],
  ['upgrade: false in other errors', withoutUpgrade],
  ['a day that ends in the middle of a minute', withShortDay(20)],
  ['a day that ends soon after a minute has', withShortDay(25)],
  ['a day that ends in the last minute', withShortDay(50)],
])('%s: the protocol leaves it open, so nothing fails', async (_, change, options = {}) => {
  const service = new TinyService(COMMUNITY);
  const fetch = change(service);
  const report = await run(service, { plan: 'community', fetch, isCoreOnly: true, ...options });
  expect(report.verdicts.filter(({ result }) => result === 'fails')).toEqual([]);
  if (options.domainIds) expect(idsOf(report, 'holds')).toContain('batch-domain');
});

test('the protocol does not say which plan has which size of a batch', async () => {
  const service = new TinyService({ minute: 60, links: 1_000, batch: 5_000 });
  const report = await run(service, { plan: 'pro' });
  expect(idsOf(report, 'fails')).toEqual([]);
  expect(idsOf(report, 'not shown')).toContain('batch-size');
  // On Community the total of links is smaller than any batch size.
  const community = await run(new TinyService({ ...COMMUNITY, batch: 10_000 }), {
    plan: 'community',
  });
  expect(idsOf(community, 'not shown')).toContain('batch-size');
});

test('only what a fault is about fails', async () => {
  const job = new TinyService(AVANCE);
  const otherId = changing(job, ({ url, body }) =>
    url.includes('/jobs/') && body['id'] ? { ...body, id: 'other' } : undefined,
  );
  const wrongId = await run(job, { plan: 'avance', fetch: otherId });
  expect(idsOf(wrongId, 'fails')).toEqual(['poll-fields']);
  const unlimited = await run(new TinyService({ ...COMMUNITY, minute: 1_000 }), {
    plan: 'community',
  });
  expect(idsOf(unlimited, 'fails')).toEqual(['requests-per-minute']);
});

test('upgrade in an error of another kind fails without a limit of the plan too', async () => {
  const service = new TinyService(AVANCE);
  const fetch = changing(service, ({ status, body }) =>
    status === 400 ? { ...body, upgrade: true } : undefined,
  );
  const report = await run(service, { plan: 'custom', fetch });
  expect(idsOf(report, 'fails')).toEqual(['upgrade-flag']);
});

test('polls that count in no rate limit fail', async () => {
  const service = new TinyService(COMMUNITY);
  const fetch: typeof service.fetch = async (url, init) => {
    if (!url.includes('/jobs/') || new Headers(init.headers).get('x-api-key') !== service.apiKey)
      return service.fetch(url, init);
    return Response.json({ error: 'No such job.' }, { status: 404 });
  };
  const report = await run(service, { plan: 'community', fetch });
  expect(idsOf(report, 'fails')).toEqual(['requests-per-minute']);
  expect(report.requestsSent).toBeLessThanOrEqual(90);
});

test('a batch that passes the total of links fails', async () => {
  const service = new TinyService(COMMUNITY);
  const fetch: typeof service.fetch = async (url, init) => {
    const { links = [] } = init.body ? JSON.parse(String(init.body)) : {};
    return links.length === 101
      ? Response.json({ job_id: crypto.randomUUID(), status: 'processing', total: 101 })
      : service.fetch(url, init);
  };
  const report = await run(service, { plan: 'community', fetch });
  expect(idsOf(report, 'fails')).toContain('batch-size');
});

test('a link without code and short URL fails', async () => {
  const service = new TinyService(COMMUNITY);
  const fetch = changing(service, ({ body: { code, short_url, ...rest } }) => rest);
  const report = await run(service, { plan: 'community', fetch, domainIds: ['one'] });
  expect(idsOf(report, 'fails')).toEqual([
    'link-fields',
    'code-in-short-url',
    'absolute-short-url',
  ]);
});

test.each([
  ['everything', 3],
  ['all that the protocol has', 4],
])('a service that refuses %s with 429 is not asked for hours', async (what, requests) => {
  let sent = 0;
  const service = new TinyService(COMMUNITY);
  const fetch: typeof service.fetch = async (url) => {
    sent += 1;
    const isOther = what !== 'everything' && url.endsWith('/usage');
    if (isOther) return Response.json({ error: 'No such path.' }, { status: 404 });
    const headers = { 'Retry-After': new Date().toUTCString() };
    return Response.json({ error: 'Later.' }, { status: 429, headers });
  };
  const running = run(service, { fetch });
  await expect(running).rejects.toThrow(CannotRunError);
  await expect(running).rejects.toThrow('refused with 429, 3 times in a row');
  expect(sent).toBe(requests);
});

test('a body without end is not read to its end', async () => {
  let chunks = 0;
  const service = new TinyService(COMMUNITY);
  const fetch: typeof service.fetch = async () => {
    const pull = (controller: ReadableStreamDefaultController) => {
      chunks += 1;
      if (chunks > 100) controller.close();
      else controller.enqueue(new Uint8Array(1024 * 1024));
    };
    return new Response(new ReadableStream({ pull }));
  };
  const running = run(service, { fetch });
  await expect(running).rejects.toThrow('its body has more than 4 MiB');
  expect(chunks).toBeLessThan(10);
});
