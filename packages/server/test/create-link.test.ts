import { MAX_TARGET_URL_LENGTH, MAX_TITLE_LENGTH } from '@shortlink/sdk/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import { Fixture, LINKS, PUBLIC_URL, START, TARGET } from './fixture.ts';

let app: Fixture;
let key: string;
beforeEach(async () => {
  app = await Fixture.open();
  key = await app.caller();
});

describe('a created link', () => {
  test('comes with 201 and every field, as JSON', async () => {
    const body = {
      target_url: `${TARGET}?q=a%20b&ü=1#part`,
      title: 'Docs <&> "ü" 🙂',
      redirect_type: 307,
      tags: ['docs', 'a b', 'docs'],
    };
    const answer = await app.post(key, LINKS, body);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.json).toEqual({
      ...body,
      id: expect.stringMatching(
        /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      ),
      code: expect.stringMatching(/^[2-9A-HJ-NP-Za-km-z]{7}$/),
      short_url: `${PUBLIC_URL}/${answer.json.code}`,
      is_active: true,
      click_count: 0,
      created_at: new Date(START).toISOString(),
    });
  });

  test('has defaults for what was not given: empty title, no tags, 302', async () => {
    const { json } = await app.post(key, LINKS, { target_url: TARGET });
    expect(json).toMatchObject({ title: '', tags: [], redirect_type: 302 });
  });

  test('has the code as the last path segment of its short URL', async () => {
    const { json } = await app.post(key, LINKS, { target_url: TARGET });
    expect(new URL(json.short_url).pathname).toBe(`/${json.code}`);
  });

  test.each([301, 302, 307])('redirects with the type it asked for: %i', async (redirect_type) => {
    const { json } = await app.post(key, LINKS, { target_url: TARGET, redirect_type });
    expect(json.redirect_type).toBe(redirect_type);
    expect((await app.send(`/${json.code}`)).status).toBe(redirect_type);
  });

  test('ignores unknown fields', async () => {
    const body = { target_url: TARGET, code: 'mine', id: 'x', is_active: false, click_count: 9 };
    const { status, json } = await app.post(key, LINKS, body);
    expect(status).toBe(201);
    expect(json.code).not.toBe('mine');
    expect(json).toMatchObject({ is_active: true, click_count: 0 });
    expect(json.id).not.toBe('x');
  });

  test('is accepted at every bound', async () => {
    const target_url = `https://example.com/${'a'.repeat(MAX_TARGET_URL_LENGTH - 20)}`;
    const title = 'x'.repeat(MAX_TITLE_LENGTH);
    const tags = Array.from({ length: 20 }, () => 't'.repeat(64));
    const { status, json } = await app.post(key, LINKS, { target_url, title, tags });
    expect(status).toBe(201);
    expect(json).toMatchObject({ target_url, title, tags });
  });
});

describe('a refused link creates nothing', () => {
  const cases: [name: string, body: object, message: RegExp][] = [
    ['no target_url', {}, /^target_url is required$/],
    ['null', { target_url: null }, /^target_url must be a string$/],
    ['a number', { target_url: 7 }, /^target_url must be a string$/],
    ['an empty target_url', { target_url: '' }, /absolute http or https URL/],
    ['2,049 characters', { target_url: `https://example.com/${'a'.repeat(2029)}` }, /at most 2048/],
    ['another scheme', { target_url: 'javascript:alert(1)' }, /absolute http or https URL/],
    ['a lone surrogate', { target_url: 'https://example.com/\ud800' }, /valid Unicode/],
    ['the own host', { target_url: `${PUBLIC_URL}/abc` }, /own domains/],
    ['a long title', { target_url: TARGET, title: 'x'.repeat(256) }, /^title must be at most 255/],
    ['a title that is no string', { target_url: TARGET, title: ['x'] }, /^title must be a string$/],
    ['a null title', { target_url: TARGET, title: null }, /^title must be a string$/],
    ['a title with NUL', { target_url: TARGET, title: 'a\0b' }, /^title must not contain NUL$/],
    ['a title with half a pair', { target_url: TARGET, title: '\udc00' }, /^title must be valid/],
    ['tags that are no array', { target_url: TARGET, tags: 'a,b' }, /^tags must be an array/],
    ['21 tags', { target_url: TARGET, tags: Array(21).fill('t') }, /^tags must have at most 20/],
    ['an empty tag', { target_url: TARGET, tags: ['a', ''] }, /^tags\[1\] must not be empty$/],
    ['a long tag', { target_url: TARGET, tags: ['x'.repeat(65)] }, /^tags\[0\] must be at most 64/],
    ['a tag that is no string', { target_url: TARGET, tags: [1] }, /^tags\[0\] must be a string$/],
    ['redirect_type 303', { target_url: TARGET, redirect_type: 303 }, /301, 302, 307/],
    ['redirect_type as text', { target_url: TARGET, redirect_type: '302' }, /301, 302, 307/],
    ['redirect_type null', { target_url: TARGET, redirect_type: null }, /301, 302, 307/],
    [
      'a domain that is no string',
      { target_url: TARGET, domain_id: 1 },
      /^domain_id must be a str/,
    ],
    ['an unknown domain', { target_url: TARGET, domain_id: 'dom_x' }, /^domain_id is not a domain/],
  ];

  test.each(cases)('%s', async (_name, body, message) => {
    const answer = await app.post(key, LINKS, body);
    expect(answer.status).toBe(400);
    expect(answer.json.error).toMatch(message);
    expect(answer.json.code).toBe('invalid_request');
    expect(answer.json.upgrade).toBeUndefined();
    expect(await app.linksUsed(key)).toBe(0);
  });

  test('names every bad field once in details', async () => {
    const { json } = await app.post(key, LINKS, { target_url: 1, title: 2, tags: ['', 3] });
    expect(json.details.map((detail: { field: string }) => detail.field)).toEqual([
      'target_url',
      'title',
      'tags[0]',
      'tags[1]',
    ]);
  });
});
