import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { anyCharacter } from '../../tools/test/any-text.ts';
import { type Answer, BATCH, entries, Fixture, LINKS, TARGET } from './fixture.ts';

let app: Fixture;
let key: string;
beforeEach(async () => {
  app = await Fixture.open();
  key = await app.caller();
});

describe('no answer can be sniffed or framed', () => {
  test.each([
    '/',
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/analytics',
    '/abcdefg',
    '/no/such/path',
    '/api/v1/usage',
    '/api/v1/nowhere',
  ])('%s', async (path) => {
    const { headers } = await app.get(key, path);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toMatch(
      /default-src 'none'.*frame-ancestors 'none'/,
    );
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.has('server')).toBe(false);
    expect(headers.has('x-powered-by')).toBe(false);
  });

  test('a redirect lets the browser decide about the referrer, as a plain link does', async () => {
    const { json } = await app.post(key, LINKS, { target_url: TARGET });
    const { headers } = await app.send(`/${json.code}`);
    expect(headers.has('referrer-policy')).toBe(false);
  });
});

describe('no header of an answer holds what a client chose', () => {
  const MARK = 'x-marked-by-client';
  /** Where a client's bytes may stand, and nowhere else. */
  const ALLOWED = ['location', 'x-request-id'];

  const echoes = ({ headers }: Answer) =>
    [...headers].filter(([name, value]) => value.includes(MARK) && !ALLOWED.includes(name));

  test('whatever field, path, query or header carried it', async () => {
    const marked = `${TARGET}/${MARK}`;
    const answers = [
      await app.post(key, LINKS, { target_url: marked, title: MARK, tags: [MARK] }),
      await app.post(key, LINKS, { target_url: marked, domain_id: MARK }),
      await app.post(
        key,
        LINKS,
        { [MARK]: 1 },
        { 'Idempotency-Key': MARK, Origin: `https://${MARK}` },
      ),
      await app.post(key, BATCH, { domain_id: MARK, links: entries(2) }),
      await app.get(MARK, '/api/v1/usage'),
      await app.get(key, `/api/v1/jobs/${MARK}?${MARK}=${MARK}`),
      await app.send(`/${MARK}`, { method: 'PURGE' }),
      await app.send(LINKS, {
        method: 'OPTIONS',
        headers: { Origin: `https://${MARK}`, 'Access-Control-Request-Headers': MARK },
      }),
    ];
    for (const answer of answers) expect(echoes(answer)).toEqual([]);
  });

  test('a target can end no header, whatever is in it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: anyCharacter, maxLength: 60 }), async (rest) => {
        const { status, json } = await app.post(key, LINKS, { target_url: `${TARGET}/${rest}` });
        if (status !== 201) return;
        const answer = await app.send(`/${json.code}`);
        expect(answer.status).toBe(302);
        const location = answer.headers.get('location') ?? '';
        expect(location).toMatch(/^https:\/\/example\.com\/docs\/?[\x21-\x7e]*$/);
        expect([...answer.headers.keys()]).not.toContain('set-cookie');
      }),
      { numRuns: 200 },
    );
  });
});

test('lone surrogates are refused in every text field, and pairs are kept', async () => {
  for (const field of ['target_url', 'title', 'domain_id']) {
    const body = JSON.stringify({ target_url: TARGET, [field]: `${TARGET}\ud83d` });
    const { status, json } = await app.post(key, LINKS, body);
    expect(status).toBe(400);
    expect(json.details[0]).toMatchObject({ field, message: expect.stringContaining('Unicode') });
  }
  const raw = `{"target_url": "${TARGET}", "tags": ["\\ud83d"]}`;
  expect((await app.post(key, LINKS, raw)).status).toBe(400);
  const whole = await app.post(key, LINKS, { target_url: TARGET, title: '😀' });
  expect(whole.json.title).toBe('😀');
});
