import { beforeEach, describe, expect, test } from 'vitest';
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
