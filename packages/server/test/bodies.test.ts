import { PassThrough } from 'node:stream';
import { MAX_BODY_BYTES } from '@shortlink/sdk/wire';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Store } from '../src/store/store.ts';
import { appOf } from './app-of.ts';
import { BATCH, Fixture, LINKS, PUBLIC_URL, TARGET } from './fixture.ts';

let app: Fixture;
let key: string;
beforeEach(async () => {
  app = await Fixture.open();
  key = await app.caller();
});

const GOOD = JSON.stringify({ target_url: TARGET });

describe.each([LINKS, BATCH])('POST %s', (path) => {
  test.each([
    ['empty', '', /empty/],
    ['broken', '{"target_url": ', /not valid JSON/],
    ['with a trailing comma', '{"a": 1,}', /not valid JSON/],
    ['text after the object', '{} {}', /not valid JSON/],
    ['an array', '[]', /must be a JSON object/],
    ['null', 'null', /must be a JSON object/],
    ['a string', '"x"', /must be a JSON object/],
    ['a number', '1', /must be a JSON object/],
  ])('a body that is %s is 400', async (_name, body, message) => {
    const { status, json } = await app.post(key, path, body);
    expect(status).toBe(400);
    expect(json).toEqual({ error: expect.stringMatching(message), code: 'invalid_request' });
    expect(await app.linksUsed(key)).toBe(0);
  });

  test('invalid UTF-8 is 400', async () => {
    const { status, json } = await send(path, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]));
    expect(status).toBe(400);
    expect(json.error).toMatch(/UTF-8/);
  });

  test.each([
    null,
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json+x',
    'text/json',
  ])('the content type %j is 415', async (type) => {
    const { status, json, headers } = await send(path, Buffer.from(GOOD), type);
    expect(status).toBe(415);
    expect(json).toMatchObject({
      error: expect.stringContaining('application/json'),
      code: 'unsupported_media_type',
    });
    expect(headers.get('accept')).toBe('application/json');
    expect(await app.linksUsed(key)).toBe(0);
  });

  test('a compressed body is 415', async () => {
    const { status, json, headers } = await app.post(key, path, GOOD, {
      'Content-Encoding': 'gzip',
    });
    expect(status).toBe(415);
    expect(json).toEqual({
      error: expect.stringContaining('Content-Encoding'),
      code: 'unsupported_media_type',
    });
    expect(headers.get('accept-encoding')).toBe('identity');
  });

  test('a body that is nested 17 deep is 400 before it is parsed, also in an unknown field', async () => {
    const deep = `{"x": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const { status, json } = await app.post(key, path, deep);
    expect(status).toBe(400);
    expect(json.error).toMatch(/nested deeper than 16/);
  });
});

test('a batch with more than 500,000 members is 400 before it is parsed', async () => {
  const { status, json } = await app.post(key, BATCH, `{"x": [${'{},'.repeat(250_000)}`);
  expect(status).toBe(400);
  expect(json.error).toMatch(/more than 500000 fields/);
});

describe.each([
  [LINKS, 256 * 1024, '256 KiB'],
  [BATCH, MAX_BODY_BYTES, '16 MiB'],
])('the body of POST %s', (path, max, words) => {
  const good = path === LINKS ? GOOD : JSON.stringify({ links: [{ target_url: TARGET }] });

  test(`may have ${words}, in one piece or in many`, async () => {
    const body = Buffer.alloc(max, 0x20);
    body.write(good);
    expect((await send(path, body)).status).toBeLessThan(202);
    expect((await send(path, piecesOf(body))).status).toBeLessThan(202);
  });

  test('is 413 above that, with a length and without', async () => {
    const tooLarge = Buffer.alloc(max + 1, 0x20);
    const stated = await app.send(path, {
      method: 'POST',
      headers: { ...headersFor('application/json'), 'Content-Length': String(tooLarge.length) },
      body: tooLarge,
    });
    for (const { status, json } of [stated, await send(path, piecesOf(tooLarge))]) {
      expect(status).toBe(413);
      expect(json).toEqual({
        error: expect.stringContaining(words),
        code: 'payload_too_large',
      });
    }
  });

  test('is not read to its end if it has none', async () => {
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += 65_536;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    expect((await send(path, body)).status).toBe(413);
    expect(sent).toBeLessThan(max + 4 * 65_536);
  });
});

describe('large bodies that come slowly', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('of two accounts leave room for a third one', async () => {
    const ends: (() => void)[] = [];
    const answers: Promise<{ status: number; headers: Headers }>[] = [];
    for (const slow of [await app.caller(), await app.caller()]) {
      for (let n = 0; n < 4; n += 1) {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => {
            for (let mib = 0; mib < 9; mib += 1) controller.enqueue(Buffer.alloc(1_048_576, ' '));
            ends.push(() => controller.close());
          },
        });
        const headers = { 'X-Api-Key': slow, 'Content-Type': 'application/json' };
        answers.push(app.send(BATCH, { method: 'POST', headers, body, duplex: 'half' }));
      }
    }
    // Their own further ones are refused; one of each is still coming.
    let refused = 0;
    for (const answer of answers) void answer.then(() => (refused += 1));
    await expect.poll(() => refused).toBe(6);
    const whole = Buffer.alloc(MAX_BODY_BYTES, ' ');
    whole.write(JSON.stringify({ links: [{ target_url: TARGET }] }));
    expect((await send(BATCH, whole)).status).toBe(200);
    for (const end of ends) {
      try {
        end();
      } catch {
        // It was refused.
      }
    }
    const done = await Promise.all(answers);
    expect(done.map(({ status }) => status).toSorted()).toEqual([400, 400, ...Array(6).fill(503)]);
    for (const { status, headers } of done) {
      expect(headers.get('retry-after')).toBe(status === 503 ? '1' : null);
    }
  });

  test('are cut off when they trickle in, however often something comes', async () => {
    const service = appOf({ store: app.store, publicUrl: PUBLIC_URL, now: () => app.now });
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const begin = () => {
      const body = new PassThrough({ highWaterMark: 1_048_576 });
      body.write(Buffer.alloc(300_000, ' '));
      const init = { method: 'POST', headers: headersFor('application/json') };
      const response = Promise.resolve(service.request(BATCH, init, { body }));
      return { body, response };
    };
    const [steady, trickling] = [begin(), begin()];
    for (let second = 0; second < 11; second += 1) {
      steady.body.write(Buffer.alloc(30_000, ' '));
      trickling.body.write(' ');
      await expect.poll(() => steady.body.readableLength).toBe(0);
      vi.advanceTimersByTime(1_000);
    }
    steady.body.end(JSON.stringify({ links: [{ target_url: TARGET }] }));
    expect((await steady.response).status).toBe(200);
    trickling.body.end(JSON.stringify({ links: [{ target_url: TARGET }] }));
    const { status, headers } = await trickling.response;
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  });

  test('are cut off when nothing comes for 5 s, and small ones are not', async () => {
    const service = appOf({ store: app.store, publicUrl: PUBLIC_URL, now: () => app.now });
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const begin = (bytes: number) => {
      const body = new PassThrough({ highWaterMark: 1_048_576 });
      body.write(Buffer.alloc(bytes, ' '));
      const init = { method: 'POST', headers: headersFor('application/json') };
      const response = Promise.resolve(service.request(BATCH, init, { body }));
      return { body, response };
    };
    const [small, large] = [begin(1_000), begin(300_000)];
    await expect.poll(() => large.body.readableLength + small.body.readableLength).toBe(0);
    vi.advanceTimersByTime(4_000);
    large.body.write(' ');
    await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(4_000);
    small.body.end(JSON.stringify({ links: [{ target_url: TARGET }] }));
    expect((await small.response).status).toBe(200);
    vi.advanceTimersByTime(1_000);
    const { status, headers } = await large.response;
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    // Both count: that one was slow is no fault of the service.
    const { json } = await app.get(key, '/api/v1/usage');
    expect(json.requests.minute.used).toBe(2);
  });
});

test('a large body whose custom domain is still looked up holds up no other one', async () => {
  let answer = (_: Set<string>) => {};
  let ask = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const slow: Store = {
    ...app.store,
    ownedDomains: () => {
      ask();
      return new Promise((resolve) => {
        answer = resolve;
      });
    },
  };
  const service = appOf({ store: slow, publicUrl: PUBLIC_URL, now: () => app.now });
  const domain_id = 'dom_000000000000';
  const begin = (by: string, body: object) =>
    Promise.resolve(
      service.request(BATCH, {
        method: 'POST',
        headers: { 'X-Api-Key': by, 'Content-Type': 'application/json' },
        body: JSON.stringify({
          links: [{ target_url: TARGET }],
          ...body,
          padding: ' '.repeat(400_000),
        }),
      }),
    );
  const waiting = begin(key, { domain_id });
  await asked;
  expect((await begin(await app.caller(), {})).status).toBe(200);
  answer(new Set());
  expect((await waiting).status).toBe(400);
});

test.each(['application/json', 'Application/JSON ; charset=utf-8', 'application/json;charset=x'])(
  'the content type %j is accepted',
  async (type) => {
    expect((await send(LINKS, Buffer.from(GOOD), type)).status).toBe(201);
  },
);

test('a byte order mark is skipped', async () => {
  expect((await send(LINKS, Buffer.from(`\ufeff${GOOD}`))).status).toBe(201);
});

test('__proto__ and constructor in a body are unknown fields, not prototypes', async () => {
  const body = `{"target_url": "${TARGET}", "__proto__": {"title": "x"}, "constructor": {"prototype": {"title": "x"}}}`;
  const { status, json } = await app.post(key, LINKS, body);
  expect(status).toBe(201);
  expect(json.title).toBe('');
  expect('title' in {}).toBe(false);
  const onlyProto = await app.post(key, LINKS, `{"__proto__": {"target_url": "${TARGET}"}}`);
  expect(onlyProto.status).toBe(400);
});

test('of a repeated field the last counts', async () => {
  const body = `{"target_url": "javascript:alert(1)", "target_url": "${TARGET}"}`;
  expect((await app.post(key, LINKS, body)).json.target_url).toBe(TARGET);
  const reversed = `{"target_url": "${TARGET}", "target_url": "javascript:alert(1)"}`;
  expect((await app.post(key, LINKS, reversed)).status).toBe(400);
});

test('a client that goes away in mid-body is not a fault of ours', async () => {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"target_url":')),
    pull: (controller) => controller.error(new Error('aborted')),
  });
  expect((await send(LINKS, body)).status).toBe(400);
});

function headersFor(type: string | undefined): Record<string, string> {
  return { 'X-Api-Key': key, ...(type !== undefined && { 'Content-Type': type }) };
}

function send(
  path: string,
  body: Buffer | ReadableStream<Uint8Array>,
  type: string | null = 'application/json',
) {
  const headers = headersFor(type ?? undefined);
  const init: RequestInit = { method: 'POST', headers, duplex: 'half' };
  return app.send(path, { ...init, body: Buffer.isBuffer(body) ? new Uint8Array(body) : body });
}

/** The same bytes as a stream without a length. */
function piecesOf(body: Buffer): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (at === body.length) return controller.close();
      controller.enqueue(new Uint8Array(body.subarray(at, at + 50_001)));
      at = Math.min(at + 50_001, body.length);
    },
  });
}
