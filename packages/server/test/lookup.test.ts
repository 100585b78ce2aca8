import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { appOf } from './app-of.ts';
import { BATCH, entries, Fixture, LINKS, PUBLIC_URL, START, TARGET } from './fixture.ts';

const LOOKUP = '/api/v1/links/lookup';

let app: Fixture;
let account: string;
let key: string;
beforeEach(async () => {
  app = await Fixture.open();
  account = await app.account();
  key = await app.key(account);
});

const lookUp = (body: object, by = key) => app.post(by, LOOKUP, body);
const create = async (fields: object = {}, by = key) =>
  (await app.post(by, LINKS, { target_url: TARGET, ...fields })).json;
const batch = (links: object[], by = key) => app.post(by, BATCH, { links });
/** So many links of one target. */
const same = (count: number) => Array.from({ length: count }, () => ({ target_url: TARGET }));

describe('a look-up', () => {
  test('finds links by target and by code, whole, in the order asked', async () => {
    const first = await create({ title: 'Docs', tags: ['a'] });
    const second = await create({ target_url: `${TARGET}/2` });
    const links = [`${TARGET}/2`, `${TARGET}/none`, TARGET].map((target_url) => ({ target_url }));
    const byTarget = await lookUp({ links });
    expect(byTarget.status).toBe(200);
    expect(byTarget.json).toEqual({
      results: [
        { links: [second], more: false },
        { links: [], more: false },
        { links: [first], more: false },
      ],
    });
    expect(byTarget.headers.get('content-length')).toBe(String(Buffer.byteLength(byTarget.text)));
    const byCode = await lookUp({ codes: [first.code, 'none', '../x', '', first.code] });
    const found = byCode.json.results.map((result: { links: object[] }) => result.links);
    expect(found).toEqual([[first], [], [], [], [first]]);
  });

  test('takes 10,000 entries whatever the batch size of the plan is, as one request of the quota', async () => {
    const small = await app.caller('community');
    const link = await create({ target_url: `${TARGET}/7777` }, small);
    const { json, headers } = await lookUp({ links: entries(10_000) }, small);
    expect(json.results).toHaveLength(10_000);
    expect(json.results[7_777]).toEqual({ links: [link], more: false });
    expect(headers.get('ratelimit')).toContain('"minute";r=13;');
    const many = await lookUp({ links: entries(10_001) }, small);
    expect([many.status, many.json.error]).toEqual([
      400,
      'links must have at most 10000 entries, not 10001',
    ]);
  });

  test('shows 20 links of an entry, and `after` leads through the others, without one twice', async () => {
    await batch(same(45));
    const codes: string[] = [];
    const pages: [links: number, more: boolean][] = [];
    let after: string | undefined;
    do {
      const [result] = (await lookUp({ links: [{ target_url: TARGET, after }] })).json.results;
      codes.push(...result.links.map((link: { code: string }) => link.code));
      pages.push([result.links.length, result.more]);
      after = result.more ? result.links.at(-1).id.toUpperCase() : undefined;
    } while (after !== undefined);
    expect(pages).toEqual([
      [20, true],
      [20, true],
      [5, false],
    ]);
    expect(new Set(codes).size).toBe(45);
  });

  test('shows 20 links of a target that has 20, and no more', async () => {
    await batch(same(20));
    const { results } = (await lookUp({ links: same(1) })).json;
    expect(results[0]).toMatchObject({ more: false, links: { length: 20 } });
  });

  test('shows 50,000 links at most; the entries that get fewer say that they have some', async () => {
    await batch(same(20));
    await create({ target_url: `${TARGET}/one` });
    const rest = [{ target_url: `${TARGET}/one` }, { target_url: `${TARGET}/none` }];
    const { results } = (await lookUp({ links: [...same(2_501), ...rest] })).json;
    const shown: [links: number, more: boolean][] = results.map(
      (result: { links: object[]; more: boolean }) => [result.links.length, result.more],
    );
    const has = shown.map((_, n) => (n < 2_501 ? 20 : 2_502 - n));
    expect(shown.map(([, more]) => more)).toEqual(shown.map(([links], n) => links < (has[n] ?? 0)));
    expect(shown.filter(([, more]) => more).length).toBeLessThanOrEqual(3);
    const all = shown.reduce((sum, [links]) => sum + links, 0);
    expect(all).toBeLessThanOrEqual(50_000);
    expect(all).toBeGreaterThan(50_000 - 20);
  });

  test('is not larger than a client takes, also where each character takes several bytes: long links make room for fewer of them', async () => {
    const target_url = `${TARGET}/${'x'.repeat(2_000)}`;
    const tags = Array.from({ length: 20 }, (_, tag) => String(tag).padEnd(64, '漢'));
    const title = '漢'.repeat(255);
    await batch(Array.from({ length: 100 }, () => ({ target_url, title, tags })));
    const asked = Array.from({ length: 1_500 }, () => ({ target_url }));
    const { headers, json } = await lookUp({ links: asked });
    expect(Number(headers.get('content-length'))).toBeLessThan(36 * 1024 * 1024);
    const shown = json.results.map((result: { links: object[] }) => result.links.length);
    expect(shown[0]).toBe(20);
    expect(shown.at(-1)).toBe(0);
    expect(json.results.every((result: { more: boolean }) => result.more)).toBe(true);
  });

  test('lists links that are switched off', async () => {
    const link = await create();
    await app.store.setLinkActive(link.code, false);
    const { results } = (await lookUp({ codes: [link.code] })).json;
    expect(results[0].links).toEqual([{ ...link, is_active: false }]);
    expect((await lookUp({ links: same(1) })).json.results).toEqual(results);
  });

  test('finds the links of a domain on it only', async () => {
    const domain = await app.store.addDomain({
      hostname: 'go.example',
      accountId: account,
      now: START,
    });
    const plain = await create();
    const custom = await create({ domain_id: domain?.id });
    const links = [{ target_url: TARGET }, { target_url: TARGET, domain_id: domain?.id }];
    const { results } = (await lookUp({ links })).json;
    expect(results).toEqual([
      { links: [plain], more: false },
      { links: [custom], more: false },
    ]);
    await app.store.removeDomain({ hostname: 'go.example', force: true, now: START });
    const nothing = { links: [], more: false };
    expect((await lookUp({ links })).json.results).toEqual([
      { links: [plain], more: false },
      nothing,
    ]);
    const { results: byCode } = (await lookUp({ codes: [custom.code] })).json;
    expect(byCode[0].links).toEqual([{ ...custom, is_active: false }]);
  });

  test('never shows a link of another account, nor tells its domain from one that never was', async () => {
    const domain = await app.store.addDomain({
      hostname: 'go.example',
      accountId: account,
      now: START,
    });
    const { code, id } = await create();
    await create({ domain_id: domain?.id });
    const stranger = await app.caller();
    const nothing = { results: [{ links: [], more: false }] };
    expect((await lookUp({ codes: [code] }, stranger)).json).toEqual(nothing);
    expect((await lookUp({ links: same(1) }, stranger)).json).toEqual(nothing);
    const own = await create({}, stranger);
    const answers = await Promise.all(
      [id, '00000000-0000-7000-8000-000000000000'].map((after) =>
        lookUp({ links: [{ target_url: TARGET, after }] }, stranger),
      ),
    );
    expect(answers.map(({ json }) => json.results[0].links)).toEqual([[own], [own]]);
    const foreign = { links: [{ target_url: TARGET, domain_id: domain?.id }] };
    const unknown = { links: [{ target_url: TARGET, domain_id: 'dom_unknown' }] };
    expect((await lookUp(foreign, stranger)).json).toEqual(nothing);
    expect((await lookUp(unknown, stranger)).json).toEqual(nothing);
  });
});

test.each<[string, unknown, string]>([
  ['no list', {}, 'links is required'],
  ['both lists', { links: same(1), codes: ['x'] }, 'codes must not be given together with links'],
  ['an empty list', { codes: [] }, 'codes must not be empty'],
  ['no list but a text', { links: TARGET }, 'links must be an array'],
  ['an entry that is no object', { links: [TARGET] }, 'links[0]: must be a JSON object'],
  ['an entry without target', { links: [...same(2), {}] }, 'links[2]: target_url is required'],
  [
    'a target that is no text',
    { links: [{ target_url: 7 }] },
    'links[0]: target_url must be a string',
  ],
  [
    'a target with half a character',
    { links: [{ target_url: '\ud800' }] },
    'links[0]: target_url must be valid Unicode',
  ],
  [
    'a target with NUL',
    { links: [{ target_url: '\0' }] },
    'links[0]: target_url must not contain NUL',
  ],
  ['a code that is no text', { codes: ['x', 7] }, 'codes[1]: must be a string'],
  [
    'an `after` that is no id',
    { links: [{ target_url: TARGET, after: 'x' }] },
    'links[0]: after must be the id of a link',
  ],
])('%s is 400', async (_, body, error) => {
  const answer = await app.post(key, LOOKUP, body);
  expect([answer.status, answer.json.error, answer.json.code]).toEqual([
    400,
    error,
    'invalid_request',
  ]);
});

test('targets that no link can have, and codes of any kind, are found nowhere', async () => {
  const links = ['', 'javascript:alert(1)', 'https://sho.rt/x', "' OR 1=1 --"].map(
    (target_url) => ({ target_url }),
  );
  const codes = ['%', "' OR 1=1 --", '\0', '\ud800', 'x'.repeat(100_000), '__proto__'];
  for (const body of [{ links }, { codes }]) {
    const { status, json } = await lookUp(body);
    expect(status).toBe(200);
    expect(json.results.every((result: { links: object[] }) => result.links.length === 0)).toBe(
      true,
    );
  }
});

test('methods, types and sizes are those of a batch', async () => {
  const get = await app.get(key, LOOKUP);
  expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST']);
  const headers = { 'X-Api-Key': key, 'Content-Type': 'text/html', Accept: 'text/html' };
  const html = await app.send(LOOKUP, { method: 'POST', headers, body: '<p>' });
  expect([html.status, html.headers.get('content-type')]).toEqual([415, 'application/json']);
  const large = { codes: ['x'.repeat(16 * 1024 * 1024)] };
  expect((await lookUp(large)).status).toBe(413);
});

test('a refused look-up is 429, and one with a key of either permission passes', async () => {
  const limited = await app.account('custom', { requests_per_minute: 1 });
  const reader = await app.key(limited, 'analytics:read');
  expect((await lookUp({ codes: ['x'] }, reader)).status).toBe(200);
  const refused = await lookUp({ codes: ['x'] }, reader);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '30']);
});

test('the usage lists what this service offers', async () => {
  expect((await app.get(key, '/api/v1/usage')).json.features).toEqual(['idempotency', 'lookup']);
});

describe('while a job runs', () => {
  // Nothing is waited for but timers, and those of this test go ahead of the clock.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('a look-up waits for the jobs that were accepted before it, and sees their links', async () => {
    const before = (await batch(entries(101))).json.job_id;
    const looked = vi.spyOn(app.store, 'unfinishedJobs');
    const asked = lookUp({ links: [{ target_url: `${TARGET}/100` }] });
    await expect.poll(() => looked.mock.calls.length).toBeGreaterThan(0);
    await batch(entries(102));
    await vi.advanceTimersByTimeAsync(1_000);
    await app.runJob(before);
    await vi.advanceTimersByTimeAsync(300);
    expect((await asked).json.results[0].links).toHaveLength(1);
  });

  test('it waits 10 s, then it is 503 with Retry-After, which counts nowhere; other accounts do not wait', async () => {
    await batch(entries(101));
    const looked = vi.spyOn(app.store, 'unfinishedJobs');
    const asked = lookUp({ codes: ['x'] });
    await expect.poll(() => looked.mock.calls.length).toBeGreaterThan(0);
    await vi.advanceTimersByTimeAsync(9_000);
    const other = await app.caller();
    expect((await lookUp({ codes: ['x'] }, other)).status).toBe(200);
    await vi.advanceTimersByTimeAsync(1_500);
    const { status, headers, json } = await asked;
    expect([status, headers.get('retry-after'), json.code]).toEqual([503, '1', 'unavailable']);
    const usage = await app.get(key, '/api/v1/usage');
    expect(usage.json.requests.minute.used).toBe(1);
  });

  test('any number of look-ups wait, and hold no memory for their bodies', async () => {
    const job = (await batch(entries(101))).json.job_id;
    const looked = vi.spyOn(app.store, 'unfinishedJobs');
    const large = { codes: [...Array(20).keys()].map((n) => String(n).repeat(40_000)) };
    const asked = Array.from({ length: 18 }, () => lookUp(large));
    await expect.poll(() => looked.mock.calls.length).toBeGreaterThanOrEqual(18);
    await vi.advanceTimersByTimeAsync(8_000);
    await app.runJob(job);
    const before = lookUp({ codes: ['x'] });
    expect((await before).status).toBe(200);
    await vi.advanceTimersByTimeAsync(100);
    for (const answer of asked) expect([200, 503]).toContain((await answer).status);
    expect((await asked[0])?.status).toBe(200);
  });
});

test('a client that does not read its response holds up no other look-up of the account', async () => {
  await batch(same(20));
  const body = JSON.stringify({ links: same(10_000) });
  const headers = { 'X-Api-Key': key, 'Content-Type': 'application/json' };
  const unread = await app.request(LOOKUP, { method: 'POST', headers, body });
  expect(unread.status).toBe(200);
  expect((await lookUp({ links: same(1) })).status).toBe(200);
  await unread.body?.cancel();
});

test('nothing more is looked up for a client that has gone', async () => {
  const socket = { destroyed: false };
  const findLinks = vi.spyOn(app.store, 'findLinks').mockImplementation(async (_, entries) => {
    socket.destroyed = findLinks.mock.calls.length === 3;
    return entries.map(() => []);
  });
  const init = {
    method: 'POST',
    headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ links: entries(10_000) }),
  };
  const ofClient = appOf({ store: app.store, publicUrl: PUBLIC_URL });
  const { status } = await ofClient.request(LOOKUP, init, { incoming: { socket } });
  expect([status, findLinks.mock.calls.length]).toEqual([400, 3]);
});

test('what an account does not read is bounded, and a client that reads nothing is cut off', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const body = JSON.stringify({ codes: ['x'] });
  const headers = { 'X-Api-Key': key, 'Content-Type': 'application/json' };
  const send = () => app.request(LOOKUP, { method: 'POST', headers, body });
  const unread = await Promise.all([send(), send(), send(), send()]);
  expect(unread.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const fifth = lookUp({ codes: ['x'] });
  await vi.waitFor(() => expect(vi.getTimerCount()).toBe(5));
  await vi.advanceTimersByTimeAsync(5_000);
  const { status, headers: shown } = await fifth;
  expect([status, shown.get('retry-after')]).toEqual([429, '1']);
  await vi.advanceTimersByTimeAsync(55_000);
  await expect(unread[0]?.text()).rejects.toThrow('does not read');
  expect((await lookUp({ codes: ['x'] })).status).toBe(200);
  vi.useRealTimers();
});
