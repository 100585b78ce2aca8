import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ApiError, PlanLimitError, RateLimitError, ServerError } from '../src/errors/api-errors.ts';
import { ConnectionError, isOutcomeUnknown } from '../src/errors/call-errors.ts';
import { JOB, json, LINK } from './answers.ts';
import { InstantClock } from './fake-clock.ts';
import { BASE_URL, makeClient } from './make-client.ts';

/** The rows of the retry table that an HTTP mock can play; what needs a socket is in sockets.test.ts. */
const server = setupServer();
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }));
afterEach(() => server.resetHandlers());
afterAll(() => server.close());

type Kind = 'GET' | 'POST' | 'POST with a key';
const KINDS: Kind[] = ['GET', 'POST', 'POST with a key'];

/** Fails the first attempt of a call, answers the second one well, and says what came of it. */
async function play(kind: Kind, failure: () => Response) {
  const keys: (string | null)[] = [];
  const answer = (good: object, status: number) => (info: { request: Request }) => {
    keys.push(info.request.headers.get('idempotency-key'));
    return keys.length === 1 ? failure() : json(good, status);
  };
  server.use(
    http.get(`${BASE_URL}/api/v1/jobs/:id`, answer(JOB, 200)),
    http.post(`${BASE_URL}/api/v1/links`, answer(LINK, 201)),
  );
  const clock = new InstantClock();
  const client = makeClient({ idempotency: kind === 'POST with a key' }, { clock });
  const call =
    kind === 'GET'
      ? client.jobs.retrieve(JOB.id)
      : client.links.create({ target_url: LINK.target_url });
  const result = await call.then(
    (value) => ({ value, error: undefined }),
    (error: unknown) => ({ value: undefined, error }),
  );
  return { ...result, sent: keys.length, keys, waits: clock.delays };
}

const refusal =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    json({ error: 'not now' }, status, headers);

describe('the retry table', () => {
  it.each(KINDS)('429: %s is sent again after Retry-After', async (kind) => {
    const { value, sent, waits } = await play(kind, refusal(429, { 'Retry-After': '34' }));
    expect(value).toMatchObject(kind === 'GET' ? JOB : LINK);
    expect(sent).toBe(2);
    expect(waits[0]).toBe(34_000);
  });

  it.each(KINDS)('429 without Retry-After: %s is sent again after a backoff', async (kind) => {
    const { sent, waits } = await play(kind, refusal(429));
    expect(sent).toBe(2);
    expect(waits[0]).toBe(500);
  });

  it('connection failed, cause unknown: GET is sent again', async () => {
    expect((await play('GET', () => HttpResponse.error())).sent).toBe(2);
  });

  it('connection failed, cause unknown: POST is sent once', async () => {
    const { sent, error } = await play('POST', () => HttpResponse.error());
    expect(sent).toBe(1);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toHaveProperty('outcome', 'unknown');
  });

  it('connection failed, cause unknown: POST with a key is sent again with the same key', async () => {
    const { sent, keys } = await play('POST with a key', () => HttpResponse.error());
    expect(sent).toBe(2);
    expect(keys[0]).toMatch(/^[\da-f]{32}$/);
    expect(keys[1]).toBe(keys[0]);
  });

  describe.each([408, 500, 502, 503, 504, 520, 522, 524, 529])('%i', (status) => {
    it.each(['GET', 'POST with a key'] as const)('%s is sent again', async (kind) => {
      const { value, sent, waits } = await play(kind, refusal(status));
      expect(value).toBeDefined();
      expect(sent).toBe(2);
      expect(waits[0]).toBe(500);
    });

    it('POST is sent once', async () => {
      const { sent, error } = await play('POST', refusal(status));
      expect(sent).toBe(1);
      expect(error).toBeInstanceOf(status === 408 ? ApiError : ServerError);
      expect(error).toHaveProperty('status', status);
      expect(isOutcomeUnknown(error)).toBe(true);
    });
  });

  it.each(KINDS)('503 with Retry-After: %s is sent again', async (kind) => {
    const { value, sent, waits } = await play(kind, refusal(503, { 'Retry-After': '7' }));
    expect(value).toBeDefined();
    expect(sent).toBe(2);
    expect(waits[0]).toBe(7000);
  });

  it('503 with a Retry-After that can not be read: POST is sent once', async () => {
    const { sent } = await play('POST', refusal(503, { 'Retry-After': 'soon' }));
    expect(sent).toBe(1);
  });

  it('303: POST is sent once, and may have been carried out', async () => {
    const { sent, error } = await play('POST', refusal(303, { Location: '/elsewhere' }));
    expect(sent).toBe(1);
    expect(isOutcomeUnknown(error)).toBe(true);
  });

  it('409 with Retry-After: POST with a key waits for the other request', async () => {
    const { value, sent, waits } = await play(
      'POST with a key',
      refusal(409, { 'Retry-After': '2' }),
    );
    expect(value).toBeDefined();
    expect(sent).toBe(2);
    expect(waits[0]).toBe(2000);
  });

  it('409 with Retry-After: POST without a key is sent once', async () => {
    const { sent, error } = await play('POST', refusal(409, { 'Retry-After': '2' }));
    expect(sent).toBe(1);
    expect(error).toBeInstanceOf(ApiError);
  });

  describe.each([400, 401, 403, 404, 413, 415, 422, 501])('%i', (status) => {
    it.each(KINDS)('%s is sent once', async (kind) => {
      const { sent, error } = await play(kind, refusal(status, { 'Retry-After': '1' }));
      expect(sent).toBe(1);
      expect(error).toHaveProperty('status', status);
    });
  });
});

it('an expired certificate is reported at once', async () => {
  const cause = Object.assign(new Error('certificate has expired'), { code: 'CERT_HAS_EXPIRED' });
  let sent = 0;
  const fetch = async () => {
    sent += 1;
    throw new TypeError('fetch failed', { cause });
  };
  const clock = new InstantClock();
  const { links } = makeClient({ fetch }, { clock });
  await expect(links.create({ target_url: LINK.target_url })).rejects.toMatchObject({
    name: 'ConnectionError',
    outcome: 'not-sent',
    code: 'CERT_HAS_EXPIRED',
    isPermanent: true,
    message: `No connection to ${BASE_URL}: certificate has expired`,
  });
  expect(sent).toBe(1);
  expect(clock.delays).toEqual([]);
});

describe('the number of attempts', () => {
  const always429 = () => {
    let sent = 0;
    server.use(
      http.post(`${BASE_URL}/api/v1/links`, () => {
        sent += 1;
        return json({ error: 'not now' }, 429, { 'Retry-After': '1' });
      }),
    );
    return () => sent;
  };

  it.each([
    [undefined, 6],
    [0, 1],
    [2, 3],
  ])('maxRetries %s gives %i attempts', async (maxRetries, attempts) => {
    const sent = always429();
    const { links } = makeClient({ maxRetries });
    await expect(links.create({ target_url: 'https://a.example' })).rejects.toBeInstanceOf(
      RateLimitError,
    );
    expect(sent()).toBe(attempts);
  });

  it("a call's maxRetries wins over the client's", async () => {
    const sent = always429();
    const { links } = makeClient({ maxRetries: 4 });
    const call = links.create({ target_url: 'https://a.example' }, { maxRetries: 1 });
    await expect(call).rejects.toHaveProperty('retryAfterMs', 1000);
    expect(sent()).toBe(2);
  });

  it('backs off further with each attempt', async () => {
    server.use(
      http.get(`${BASE_URL}/api/v1/usage`, () => HttpResponse.text('down', { status: 502 })),
    );
    const clock = new InstantClock();
    const { usage } = makeClient({}, { clock });
    await expect(usage.retrieve()).rejects.toHaveProperty(
      'message',
      'The service responded with 502: down',
    );
    expect(clock.delays).toEqual([500, 1000, 2000, 4000, 8000]);
  });
});

describe('a lost POST with a key', () => {
  it.each([401, 403, 409])(
    'stays unknown after a %i, which is decided before the key is looked up',
    async (status) => {
      const { error, sent } = await playSequence([refusal(500), refusal(status)]);
      expect(sent).toBe(2);
      expect(isOutcomeUnknown(error)).toBe(true);
    },
  );

  it.each([300, 302, 307, 308, 404, 405, 410, 415, 425, 431, 451])(
    'stays unknown after a %i, which may come from a proxy that never asked the service',
    async (status) => {
      const { error, sent } = await playSequence([refusal(500), refusal(status)]);
      expect(sent).toBe(2);
      expect(error).toMatchObject({ outcome: 'unknown', cause: { status } });
      expect(isOutcomeUnknown(error)).toBe(true);
    },
  );

  it.each([400, 403, 422])(
    "stays unknown after a %i whose body isn't the service's own",
    async (status) => {
      const page = () => new Response('<h1>Request blocked</h1>', { status });
      const { error } = await playSequence([refusal(500), page]);
      expect(error).toMatchObject({ outcome: 'unknown', cause: { status } });
    },
  );

  it('is known to be rejected after a 413, whoever found the body too large', async () => {
    const page = () => new Response('<h1>Too large</h1>', { status: 413 });
    const { error } = await playSequence([refusal(500), page]);
    expect(error).toMatchObject({ status: 413 });
  });

  it.each([400, 422])('is known to be rejected after a %i of the service', async (status) => {
    const { error } = await playSequence([refusal(500), refusal(status)]);
    expect(error).toMatchObject({ status });
    expect(isOutcomeUnknown(error)).toBe(false);
  });

  it('is known to be refused after a plan limit', async () => {
    const limit = () => json({ error: 'full', upgrade: true, limit: 'links' }, 403);
    const { error } = await playSequence([refusal(500), limit]);
    expect(PlanLimitError.isInstance(error)).toBe(true);
  });

  const DAY = 86_400;

  /** Loses the first attempt, refuses the second with this `Retry-After`, and counts what is sent. */
  async function playLost(retryAfterS: number) {
    const { sent, error, value } = await playSequence([
      refusal(500),
      refusal(429, { 'Retry-After': String(retryAfterS) }),
    ]);
    return { sent, error, value };
  }

  it('is sent again while the service knows its key', async () => {
    expect(await playLost(DAY - 2 * 3_600)).toMatchObject({ sent: 3, value: LINK });
  });

  it('is not sent again once the service may have forgotten its key, since that could create a second link', async () => {
    const { sent, error } = await playLost(DAY + 3_600);
    expect(sent).toBe(2);
    expect(isOutcomeUnknown(error)).toBe(true);
  });
});

/** Fails the first attempts of a create with a key in these ways, and answers the next one well. */
async function playSequence(failures: (() => Response)[]) {
  let sent = 0;
  server.use(http.post(`${BASE_URL}/api/v1/links`, () => failures[sent++]?.() ?? json(LINK, 201)));
  const clock = new InstantClock();
  const client = makeClient(
    { idempotency: true, maxRetryAfterMs: 2 * 86_400_000, totalTimeoutMs: 0 },
    { clock },
  );
  return client.links.create({ target_url: LINK.target_url }).then(
    (value) => ({ value, error: undefined, sent }),
    (error: unknown) => ({ value: undefined, error, sent }),
  );
}
