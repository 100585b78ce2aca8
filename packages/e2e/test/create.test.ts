import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminRaw } from '../src/server-process.ts';
import { type Answer, World } from '../src/world.ts';

const LINKS = '/api/v1/links';
const TARGET = 'https://example.com/docs?q=a%20b#part';
let world: World;
let key: string;

beforeAll(async () => {
  world = await World.create();
  ({ key } = await world.caller('custom'));
});
afterAll(() => world[Symbol.asyncDispose]());

describe('POST /api/v1/links', () => {
  test('answers 201 with every field of a link', async () => {
    const answer = await world.request(key, 'POST', LINKS, {
      target_url: TARGET,
      title: 'Docs',
      redirect_type: 307,
      tags: ['docs', 'a b'],
      unknown_field: 1,
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.json).toEqual({
      id: expect.stringMatching(
        /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      ),
      code: expect.stringMatching(/^[2-9A-HJ-NP-Za-km-z]{7}$/),
      short_url: `${world.server.url}/${answer.json.code}`,
      target_url: TARGET,
      title: 'Docs',
      redirect_type: 307,
      is_active: true,
      click_count: 0,
      tags: ['docs', 'a b'],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  test('fills in the defaults', async () => {
    const answer = await world.request(key, 'POST', LINKS, { target_url: TARGET });
    expect(answer.json).toMatchObject({ title: '', tags: [], redirect_type: 302, is_active: true });
  });

  test('the short URL redirects, counts GETs and not HEADs, and can be disabled and enabled', async () => {
    const { json: link } = await world.request(key, 'POST', LINKS, {
      target_url: TARGET,
      redirect_type: 301,
    });
    const follow = (method: string) => fetch(link.short_url, { method, redirect: 'manual' });
    for (const method of ['GET', 'GET', 'HEAD', 'GET']) {
      const response = await follow(method);
      expect(response.status).toBe(301);
      expect(response.headers.get('location')).toBe(TARGET);
      expect(response.headers.get('cache-control')).toBe('private, max-age=0');
    }
    await expect
      .poll(async () => (await world.linkByCode(link.code)).click_count, {
        interval: 200,
      })
      .toBe(3);

    await linkCommand('disable', link.code);
    await expect.poll(async () => (await follow('GET')).status).toBe(410);
    expect((await world.linkByCode(link.code)).is_active).toBe(false);
    await linkCommand('enable', link.code);
    await expect.poll(async () => (await follow('GET')).status).toBe(301);
    expect((await fetch(`${world.server.url}/zzzzzzz`)).status).toBe(404);
  });
});

describe('authentication', () => {
  test.each([
    ['no key', undefined],
    ['an unknown key', 'sl_unknown'],
    ['an empty key', ''],
  ])('%s is 401', async (_, badKey) => {
    const answer = await world.request(badKey, 'POST', LINKS, { target_url: TARGET });
    expect(answer.status).toBe(401);
    expect(answer.json).toMatchObject({ error: expect.any(String), code: 'unauthorized' });
  });

  test('a key without shortlinks:write is 403 on both POSTs, and may poll', async () => {
    const account = await world.account('custom');
    const reader = await world.key(account.id, 'analytics:read');
    const writer = await world.key(account.id);
    for (const [path, body] of [
      [LINKS, { target_url: TARGET }],
      [`${LINKS}/batch`, { links: [{ target_url: TARGET }] }],
    ] as const) {
      const answer = await world.request(reader.key, 'POST', path, body);
      expect(answer.status).toBe(403);
      expect(answer.json).toMatchObject({
        error: expect.stringContaining('shortlinks:write'),
        code: 'forbidden',
      });
      expect(answer.json.upgrade).toBeUndefined();
    }
    const links = Array.from({ length: 101 }, (_, i) => ({ target_url: `${TARGET}${i}` }));
    const accepted = await world.request(writer.key, 'POST', `${LINKS}/batch`, { links });
    const poll = await world.request(reader.key, 'GET', `/api/v1/jobs/${accepted.json.job_id}`);
    expect(poll.status).toBe(200);
    expect(poll.json.total).toBe(101);
  });

  test('a revoked key is 401 at once', async () => {
    const { key: revoked, keyId } = await world.caller('custom');
    expect((await world.request(revoked, 'POST', LINKS, { target_url: TARGET })).status).toBe(201);
    expect((await adminRaw(world.database, ['keys', 'revoke', keyId])).exitCode).toBe(0);
    expect((await world.request(revoked, 'POST', LINKS, { target_url: TARGET })).status).toBe(401);
  });
});

describe('bad input has its status and words, and creates nothing', () => {
  const refusals: [name: string, status: number, send: (key: string) => Promise<Answer>][] = [
    ['no target_url', 400, (k) => world.request(k, 'POST', LINKS, {})],
    ['target_url not a string', 400, (k) => world.request(k, 'POST', LINKS, { target_url: 7 })],
    ['relative target_url', 400, (k) => world.request(k, 'POST', LINKS, { target_url: '/docs' })],
    [
      'javascript: URL',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: 'javascript:alert(1)' }),
    ],
    [
      'file: URL',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: 'file:///etc/passwd' }),
    ],
    [
      'credentials',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: 'https://a:b@example.com/' }),
    ],
    [
      'a control character',
      400,
      (k) =>
        world.request(k, 'POST', LINKS, { target_url: 'https://example.com/\r\nSet-Cookie:a' }),
    ],
    [
      '2,049 characters',
      400,
      (k) =>
        world.request(k, 'POST', LINKS, { target_url: `https://example.com/${'a'.repeat(2029)}` }),
    ],
    [
      'a loop',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: `${world.server.url}/abc` }),
    ],
    [
      'title too long',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: TARGET, title: 'x'.repeat(256) }),
    ],
    [
      'title not a string',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: TARGET, title: {} }),
    ],
    [
      'tags not an array',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: TARGET, tags: 'a' }),
    ],
    [
      '21 tags',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: TARGET, tags: Array(21).fill('t') }),
    ],
    [
      'an empty tag',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: TARGET, tags: [''] }),
    ],
    [
      'a tag of 65 characters',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: TARGET, tags: ['x'.repeat(65)] }),
    ],
    [
      'redirect_type 303',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: TARGET, redirect_type: 303 }),
    ],
    [
      'redirect_type as text',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: TARGET, redirect_type: '302' }),
    ],
    [
      'an unknown domain',
      400,
      (k) => world.request(k, 'POST', LINKS, { target_url: TARGET, domain_id: 'nope' }),
    ],
    ['broken JSON', 400, (k) => world.request(k, 'POST', LINKS, '{"target_url": ')],
    ['an empty body', 400, (k) => world.request(k, 'POST', LINKS, '')],
    ['an array', 400, (k) => world.request(k, 'POST', LINKS, [])],
    ['null', 400, (k) => world.request(k, 'POST', LINKS, 'null')],
    ['batch without links', 400, (k) => world.request(k, 'POST', `${LINKS}/batch`, {})],
    ['an empty batch', 400, (k) => world.request(k, 'POST', `${LINKS}/batch`, { links: [] })],
    ['links not an array', 400, (k) => world.request(k, 'POST', `${LINKS}/batch`, { links: {} })],
    [
      'a bad entry',
      400,
      (k) =>
        world.request(k, 'POST', `${LINKS}/batch`, {
          links: [{ target_url: TARGET }, { target_url: 'x' }],
        }),
    ],
    ['a null entry', 400, (k) => world.request(k, 'POST', `${LINKS}/batch`, { links: [null] })],
    ['a wrong method', 405, (k) => world.request(k, 'DELETE', LINKS)],
    ['GET of the batch path', 405, (k) => world.request(k, 'GET', `${LINKS}/batch`)],
    ['POST of a job', 405, (k) => world.request(k, 'POST', '/api/v1/jobs/x', {})],
    ['an unknown path', 404, (k) => world.request(k, 'GET', '/api/v1/nothing')],
    [
      'an unknown job',
      404,
      (k) => world.request(k, 'GET', '/api/v1/jobs/0190a000-0000-7000-8000-000000000000'),
    ],
    ['a job id of rubbish', 404, (k) => world.request(k, 'GET', '/api/v1/jobs/%00%ff..')],
    [
      'a body that is not JSON',
      415,
      (k) => raw(k, 'text/plain', JSON.stringify({ target_url: TARGET })),
    ],
    [
      'a body above 16 MiB',
      413,
      (k) => raw(k, 'application/json', `{"target_url":"${'a'.repeat(16 * 1024 * 1024)}"}`),
    ],
  ];

  let own: string;
  beforeAll(async () => {
    ({ key: own } = await world.caller('custom'));
  });

  test.each(refusals)('%s: %i', async (_name, status, send) => {
    const answer = await send(own);
    expect(answer.status).toBe(status);
    expect(answer.json.error).toEqual(expect.any(String));
    expect(answer.json.error.length).toBeGreaterThan(5);
    expect(answer.json.code).toEqual(expect.any(String));
    if (status === 405) expect(answer.headers.get('allow')).toMatch(/GET|POST/);
    const usage = await world.request(own, 'GET', '/api/v1/usage');
    expect(usage.json.links.used).toBe(0);
  });

  test('a body above 16 MiB in chunks, without a length, is 413 too', async () => {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest(
        world.server.url + LINKS,
        { method: 'POST', headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' } },
        (response) => {
          resolve(response.statusCode);
          response.destroy();
        },
      );
      // After its response, the server may close the connection while the request is still being sent.
      request.on('error', reject);
      const chunk = 'a'.repeat(1024 * 1024);
      const send = (left: number): void => {
        if (left === 0) request.end();
        else request.write(chunk, () => send(left - 1));
      };
      send(20);
    });
    expect(status).toBe(413);
  });
});

async function raw(apiKey: string, type: string, body: string): Promise<Answer> {
  const response = await fetch(world.server.url + LINKS, {
    method: 'POST',
    headers: { 'X-Api-Key': apiKey, 'Content-Type': type },
    body,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
}

async function linkCommand(verb: 'enable' | 'disable', code: string): Promise<void> {
  expect((await adminRaw(world.database, ['links', verb, code])).exitCode).toBe(0);
}
