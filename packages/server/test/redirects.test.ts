import { beforeEach, describe, expect, test } from 'vitest';
import { Metrics } from '../src/metrics/metrics.ts';
import { addDomain, BATCH, Fixture, LINKS, PUBLIC_URL, TARGET } from './fixture.ts';

let app: Fixture;
let accountId: string;
let key: string;
let clicked: string[];
beforeEach(async () => {
  clicked = [];
  app = await Fixture.open({ onClick: (code) => clicked.push(code) });
  accountId = await app.account();
  key = await app.key(accountId);
});

async function shorten(body: object): Promise<string> {
  const { status, json } = await app.post(key, LINKS, { target_url: TARGET, ...body });
  expect(status).toBe(201);
  return json.code;
}

const follow = (code: string, method = 'GET', origin = PUBLIC_URL) =>
  app.send(`${origin}/${code}`, { method });

test.each([301, 302, 307])('GET and HEAD redirect with %i and are not cached', async (type) => {
  const code = await shorten({ redirect_type: type });
  for (const method of ['GET', 'HEAD']) {
    const answer = await follow(code, method);
    expect(answer.status).toBe(type);
    expect(answer.headers.get('location')).toBe(TARGET);
    expect(answer.headers.get('cache-control')).toBe('private, max-age=0');
    expect(answer.text).toBe('');
  }
});

test('GET counts a click, HEAD does not', async () => {
  const code = await shorten({});
  for (const method of ['GET', 'HEAD', 'GET', 'HEAD', 'HEAD', 'GET']) await follow(code, method);
  expect(clicked).toEqual([code, code, code]);
});

test('without anybody to tell, a click goes to the store at once', async () => {
  app = await Fixture.open();
  key = await app.caller();
  const code = await shorten({});
  await follow(code);
  await expect.poll(async () => (await app.store.findLink(code))?.click_count).toBe(1);
});

test('a disabled link is 410 and counts nothing; enabled again it redirects', async () => {
  const code = await shorten({});
  await app.store.setLinkActive(code, false);
  const gone = await follow(code);
  expect(gone.status).toBe(410);
  expect(gone.json).toEqual({ error: expect.any(String), code: 'gone' });
  expect(gone.headers.get('cache-control')).toBe('private, max-age=0');
  expect(gone.headers.has('location')).toBe(false);
  await app.store.setLinkActive(code, true);
  expect((await follow(code)).status).toBe(302);
  expect(clicked).toEqual([code]);
});

test('an unknown code is 404 and may not be cached', async () => {
  const answer = await follow('zzzzzzz');
  expect(answer.status).toBe(404);
  expect(answer.headers.get('cache-control')).toBe('private, max-age=0');
  expect(clicked).toEqual([]);
});

test.each([
  ['https://example.com', 'https://example.com'],
  ['HTTPS://EXAMPLE.com/a|b', 'HTTPS://EXAMPLE.com/a|b'],
  ['https://example.com/a b?c d#e f', 'https://example.com/a%20b?c%20d#e%20f'],
  ['https://bücher.example/ü?ä', 'https://xn--bcher-kva.example/%C3%BC?%C3%A4'],
  ['https://example.com/\u2028\u202e', 'https://example.com/%E2%80%A8%E2%80%AE'],
])('%j is stored as sent and followed as %s', async (target_url, location) => {
  const { json } = await app.post(key, LINKS, { target_url });
  expect(json.target_url).toBe(target_url);
  expect((await follow(json.code)).headers.get('location')).toBe(location);
});

describe('custom domains', () => {
  let domainId: string;
  beforeEach(async () => {
    const domain = { hostname: 'go.example', accountId, now: app.now };
    domainId = (await addDomain(app.store, domain)).id;
  });

  test('a link of the domain has its short URL there and redirects there only', async () => {
    const { json } = await app.post(key, LINKS, { target_url: TARGET, domain_id: domainId });
    expect(json.short_url).toBe(`https://go.example/${json.code}`);
    for (const origin of ['https://go.example', 'http://GO.example.', 'https://go.example:443']) {
      expect((await follow(json.code, 'GET', origin)).status, origin).toBe(302);
    }
    for (const origin of [PUBLIC_URL, 'https://other.example', 'https://go.example:8080']) {
      expect((await follow(json.code, 'GET', origin)).status, origin).toBe(404);
    }
    expect(clicked).toHaveLength(3);
  });

  test('a link of the default domain does not redirect on a custom one', async () => {
    const code = await shorten({});
    expect((await follow(code)).status).toBe(302);
    expect((await follow(code, 'GET', 'https://go.example')).status).toBe(404);
  });

  test('in a batch, the request’s domain holds for all, an entry’s own wins', async () => {
    const other = await addDomain(app.store, { hostname: 'to.example', accountId, now: app.now });
    const links = [{ target_url: TARGET }, { target_url: TARGET, domain_id: other.id }];
    const { json } = await app.post(key, BATCH, { links, domain_id: domainId });
    expect(json.results.map((item: { short_url: string }) => new URL(item.short_url).host)).toEqual(
      ['go.example', 'to.example'],
    );
  });

  test('a domain of another account is as unknown as none', async () => {
    const stranger = await app.caller();
    const unknown = await app.post(stranger, LINKS, { target_url: TARGET, domain_id: 'dom_none' });
    const foreign = await app.post(stranger, LINKS, { target_url: TARGET, domain_id: domainId });
    expect(foreign.status).toBe(400);
    expect(foreign.json).toEqual(unknown.json);
    const links = [{ target_url: TARGET, domain_id: domainId }];
    expect((await app.post(stranger, BATCH, { links })).status).toBe(400);
    const byDefault = { links: [{ target_url: TARGET }], domain_id: domainId };
    expect((await app.post(stranger, BATCH, byDefault)).status).toBe(400);
    expect(await app.linksUsed(stranger)).toBe(0);
  });

  test.each([
    'https://go.example/x',
    'http://GO.EXAMPLE:8080/x',
    'https://go.example./x',
    'https://sho.rt/x',
    'https://sho.rt:443',
  ])('no link may point to %s', async (target_url) => {
    const { status, json } = await app.post(key, LINKS, { target_url });
    expect(status).toBe(400);
    expect(json.error).toMatch(/own domains/);
  });
});

test('a redirect has no body, and says so', async () => {
  const code = await shorten({});
  for (const method of ['GET', 'HEAD']) {
    const { headers } = await follow(code, method);
    expect(headers.get('content-length')).toBe('0');
  }
});

describe('previews', () => {
  const visit = async (code: string, headers: object, method = 'GET') =>
    app.send(`${PUBLIC_URL}/${code}`, { method, headers: { ...headers } });

  test.each([
    { 'Sec-Purpose': 'prefetch' },
    { 'Sec-Purpose': 'prefetch;prerender' },
    { Purpose: 'prefetch' },
    { 'X-Purpose': 'preview' },
    { 'X-Moz': 'prefetch' },
    { 'User-Agent': 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)' },
    { 'User-Agent': 'facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)' },
    { 'User-Agent': 'WhatsApp/2.23.20.0' },
    { 'User-Agent': 'TelegramBot (like TwitterBot)' },
    {
      'User-Agent': 'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
    },
  ])('%j is redirected, and is no click', async (headers) => {
    const code = await shorten({});
    const answer = await visit(code, headers);
    expect(answer.status).toBe(302);
    expect(answer.headers.get('location')).toBe(TARGET);
    expect(clicked).toEqual([]);
  });

  test.each([
    {
      'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36',
    },
    // The browser inside of an app is a visitor.
    { 'User-Agent': 'Mozilla/5.0 (iPhone) AppleWebKit/605 Mobile/15E148 [FBAN/FBIOS;FBAV/440.0]' },
    { 'User-Agent': 'Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile [Pinterest/Android]' },
    { Purpose: 'visit' },
    { 'Sec-Purpose': '' },
  ])('%j is a click', async (headers) => {
    const code = await shorten({});
    await visit(code, headers);
    expect(clicked).toEqual([code]);
  });

  test('a metric counts them apart, once for each GET', async () => {
    const metrics = new Metrics();
    app = await Fixture.open({ metrics, onClick: (code) => clicked.push(code) });
    key = await app.caller();
    const code = await shorten({});
    await visit(code, {});
    await visit(code, { Purpose: 'prefetch' });
    await visit(code, { Purpose: 'prefetch' });
    await visit(code, { Purpose: 'prefetch' }, 'HEAD');
    const text = await metrics.text();
    expect(text).toContain('shortlink_redirects_total{type="302"} 1\n');
    expect(text).toContain('shortlink_previews_total 2\n');
  });

  test('are clicks where the operator counts them', async () => {
    app = await Fixture.open({ countPreviews: true, onClick: (code) => clicked.push(code) });
    key = await app.caller();
    const code = await shorten({});
    await visit(code, { Purpose: 'prefetch' });
    expect(clicked).toEqual([code]);
  });
});

describe('the query of a short URL', () => {
  const leadsTo = async (target_url: string, query: string) => {
    const code = await shorten({ target_url });
    return (await follow(`${code}${query}`)).headers.get('location');
  };

  test('is dropped', async () => {
    expect(await leadsTo(TARGET, '?utm_source=x')).toBe(TARGET);
  });

  test.each([
    ['https://e.com', '?a=1', 'https://e.com?a=1'],
    ['https://e.com/?', '?a=1', 'https://e.com/?a=1'],
    ['https://e.com/p#part', '?a=1&b=%41', 'https://e.com/p?a=1&b=%41#part'],
    ['https://e.com/?x=1', '?a=1', 'https://e.com/?x=1&a=1'],
    ['https://e.com/?a=own', '?a=1&b=2', 'https://e.com/?a=own&b=2'],
    ['https://e.com/?%61=own', '?a=1&A=2', 'https://e.com/?%61=own&A=2'],
    ['https://e.com/?a', '?a=1', 'https://e.com/?a'],
    ['https://e.com/', '?b=1&b=2&flag', 'https://e.com/?b=1&b=2&flag'],
    ['https://e.com/', '?', 'https://e.com/'],
    ['https://e.com/', '?&&', 'https://e.com/'],
    ['https://e.com/ü?a=ö', '?b=%C3%BC', 'https://e.com/%C3%BC?a=%C3%B6&b=%C3%BC'],
    ['https://e.com/', `?a=${'x'.repeat(8_192)}`, 'https://e.com/'],
  ])('is added to %s where the operator wants that: %s', async (target, query, location) => {
    app = await Fixture.open({ forwardQuery: true });
    key = await app.caller();
    expect(await leadsTo(target, query)).toBe(location);
  });
});
