import { expect, test } from 'vitest';
import { Fixture, LINKS, PUBLIC_URL, TARGET } from './fixture.ts';

/** What a client may claim about itself and the way it came. No setting makes the service believe any of it. */
const FORGED: Record<string, string> = {
  Forwarded: 'for=127.0.0.1;host=evil.example;proto=http',
  'X-Forwarded-For': '127.0.0.1',
  'X-Forwarded-Host': 'evil.example',
  'X-Forwarded-Proto': 'http',
  'X-Forwarded-Port': '1',
  'X-Forwarded-Prefix': '/evil',
  'X-Real-IP': '127.0.0.1',
  'X-Original-URL': '/metrics',
  'X-Rewrite-URL': '/metrics',
  'X-HTTP-Method-Override': 'GET',
  'True-Client-IP': '127.0.0.1',
  'CF-Connecting-IP': '127.0.0.1',
};

const varying = ['x-request-id', 'date'];

function comparable(answer: { status: number; headers: Headers; json: unknown }) {
  const headers = [...answer.headers].filter(([name]) => !varying.includes(name));
  return { status: answer.status, headers, json: answer.json };
}

test.each(Object.entries(FORGED))('%s: %s changes no answer', async (name, value) => {
  const app = await Fixture.open();
  const key = await app.caller('custom', { requests_per_minute: 1_000 });
  const { json: link } = await app.post(key, LINKS, { target_url: TARGET });
  const ask = async (headers: Record<string, string>) => [
    comparable(await app.send(`/${link.code}`, { headers })),
    comparable(await app.send('/healthz', { headers })),
    comparable(await app.send('/metrics', { headers })),
    comparable(await app.send('/api/v1/usage', { headers: { 'X-Api-Key': key, ...headers } })),
    comparable(await app.send('/api/v1/usage', { headers })),
    comparable(await app.send('/openapi.json', { headers })),
  ];
  expect(await ask({ [name]: value })).toEqual(await ask({}));
});

test('short URLs are made from the public URL, whatever host a request came to', async () => {
  const app = await Fixture.open();
  const key = await app.caller();
  const answer = await app.post(
    key,
    `http://evil.example:81${LINKS}`,
    { target_url: TARGET },
    FORGED,
  );
  expect(answer.json.short_url).toBe(`${PUBLIC_URL}/${answer.json.code}`);
});

test('a request limit can not be shared out over claimed addresses', async () => {
  const app = await Fixture.open();
  const key = await app.caller('custom', { requests_per_minute: 2 });
  const statuses: number[] = [];
  for (let n = 0; n < 4; n += 1) {
    const headers = { 'X-Forwarded-For': `10.0.0.${n}` };
    statuses.push((await app.post(key, LINKS, { target_url: TARGET }, headers)).status);
  }
  expect(statuses).toEqual([201, 201, 429, 429]);
});
