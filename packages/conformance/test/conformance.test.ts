import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  CannotRunError,
  htmlReport,
  junitReport,
  runConformance,
  statements,
  textReport,
} from '../src/index.ts';
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
});

test('a budget of links holds where a service takes what it should refuse', async () => {
  const service = new TinyService(AVANCE);
  const report = await run(service, { plan: 'pro', budgetLinks: 20 });
  expect(report.linksCreated).toBeLessThanOrEqual(20);
  const verdict = report.verdicts.find(({ id }) => id === 'batch-size');
  expect(verdict).toMatchObject({ result: 'not shown' });
  const unbounded = await run(new TinyService(AVANCE), { plan: 'pro' });
  expect(idsOf(unbounded, 'fails')).toContain('batch-size');
  const reasons = unbounded.verdicts.map((each) => ('reason' in each ? each.reason : ''));
  expect(reasons).not.toContain('needs 0 links more: --budget-links');
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
  expect(reasons).toContain('the service asks for a wait of 40000 s: --max-wait');
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
      ? Response.json({ error: 'The key lacks shortlinks:write.' }, { status: 403 })
      : fetch(url, init);
  const readOnly = run(service, { fetch: forbidding });
  await expect(readOnly).rejects.toThrow(CannotRunError);
  await expect(readOnly).rejects.toThrow('create no link (403): "The key lacks shortlinks:write."');
});

test.each([
  ['an error page', notFound],
  ['a page', welcome],
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
  expect(junitReport(known)).toContain('failures="0"');
  expect(textReport(known)).toContain('fails, as expected');
});

test('reports show what a hostile service sends as text, and never the key', async () => {
  const service = new TinyService(COMMUNITY);
  const fetch: typeof service.fetch = async (url, init) => {
    const response = await service.fetch(url, init);
    if (response.status !== 400) return response;
    const error = '</pre><script>alert(1)</script>\u001b[2J\u202e\nx Forged line [json-bodies]';
    return Response.json({ error }, { status: 422 });
  };
  const report = await run(service, { plan: 'community', fetch });
  const [text, html, junit] = [textReport(report), htmlReport(report), junitReport(report)];
  for (const output of [text, html, junit, JSON.stringify(report)]) {
    expect(output).not.toContain(service.apiKey);
    expect(output).not.toContain('\u001b');
  }
  expect(html).not.toContain('<script');
  expect(junit).not.toContain('<script');
  expect(text).not.toContain('\u202e');
  expect(text).not.toMatch(/^x Forged/m);
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
