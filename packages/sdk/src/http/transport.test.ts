import { describe, expect, it, vi } from 'vitest';
import { json, LINK } from '../../test/answers.ts';
import { FakeClock, settle } from '../../test/fake-clock.ts';
import { makeClient } from '../../test/make-client.ts';
import { readLink } from '../wire/link.ts';

const created = async () => json(LINK, 201);
const never = () => new Promise<never>(() => {});
const body = { target_url: LINK.target_url };

describe('a call', () => {
  it('is unknown when no response comes within timeoutMs', async () => {
    const { links } = makeClient({ fetch: never, timeoutMs: 10, maxRetries: 0 });
    const late = { name: 'TimeoutError', outcome: 'unknown', timeoutMs: 10 };
    await expect(links.create(body)).rejects.toMatchObject(late);
  });

  it('ends with an error whose stack leads to the caller, also where a timer has made it', async () => {
    for (const limit of [{ timeoutMs: 10 }, { totalTimeoutMs: 10 }]) {
      const { links } = makeClient({ fetch: never, maxRetries: 0, ...limit });
      const error: unknown = await links.create(body).catch((thrown: unknown) => thrown);
      expect(error).toHaveProperty('stack', expect.stringContaining('transport.test.ts'));
    }
  });

  it('is not sent when totalTimeoutMs ends while it waits for its turn', async () => {
    const options = { fetch: never, requestsPerMinute: 1 };
    const { links } = makeClient(options, { clock: new FakeClock() });
    links.create(body).catch(() => {});
    await settle();
    const waiting = links.create(body, { totalTimeoutMs: 10 });
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError', outcome: 'not-sent' });
  });
});

describe('a caller that keeps a journal', () => {
  const post = (beforeSend: () => Promise<void>, options: Parameters<typeof makeClient>[0]) => {
    const controller = new AbortController();
    const call = makeClient(options).transport.request({
      method: 'POST',
      path: '/api/v1/links',
      body: JSON.stringify(body),
      read: readLink,
      options: { signal: controller.signal },
      watch: { beforeSend, nothingDone() {} },
    });
    return { call, controller };
  };

  it('writes to it before the request is sent', async () => {
    const steps: string[] = [];
    const beforeSend = async () => {
      await settle();
      steps.push('journal');
    };
    const fetch = () => {
      steps.push('request');
      return created();
    };
    await post(beforeSend, { fetch }).call;
    expect(steps).toEqual(['journal', 'request']);
  });

  it('may abort there, and then nothing is sent or reported as sent', async () => {
    const fetch = vi.fn(created);
    const onRequest = vi.fn();
    const reason = new Error('disk full');
    const { call, controller } = post(async () => controller.abort(reason), {
      fetch,
      hooks: { onRequest },
    });
    await expect(call).rejects.toBe(reason);
    await settle();
    expect(onRequest).not.toHaveBeenCalled();
    expect(fetch).not.toHaveBeenCalled();
  });
});

it('ends with a defect at any attempt, which is not repeated', async () => {
  const fetch = vi.fn(async () => json({ error: 'no' }, 503, { 'Retry-After': '1' }));
  const defect = new Error('journal full');
  let attempts = 0;
  const beforeSend = async () => {
    attempts += 1;
    if (attempts > 1) throw defect;
  };
  const request = { method: 'POST', path: '/api/v1/links', body: '{}', read: readLink } as const;
  const watch = { beforeSend, nothingDone() {} };
  await expect(makeClient({ fetch }).transport.request({ ...request, watch })).rejects.toBe(defect);
  expect(attempts).toBe(2);
  expect(fetch).toHaveBeenCalledTimes(1);
});

describe('a request that was never sent uses up no quota', () => {
  const last = { RateLimit: '"month";r=1;t=2000000' };
  const refused = () => {
    const cause = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    return Promise.reject(new TypeError('fetch failed', { cause }));
  };

  /** A client whose first request leaves one request of the quota, and whose next ones these functions answer. */
  async function withOneLeft(...answers: (() => Promise<Response>)[]) {
    const queue = [async () => json(LINK, 201, last), ...answers];
    const fetch = () => queue.shift()?.() ?? created();
    const client = makeClient({ fetch, maxRetryAfterMs: 2 * 86_400_000, totalTimeoutMs: 0 });
    await client.links.create(body);
    return client;
  }

  it('when there was no connection', async () => {
    const { links } = await withOneLeft(refused, refused);
    await expect(links.create(body)).resolves.toEqual(LINK);
  });

  it('when the caller did not let it go', async () => {
    const { links, transport } = await withOneLeft();
    const request = { method: 'POST', path: '/api/v1/links', body: '{}', read: readLink } as const;
    const beforeSend = () => Promise.reject(new Error('disk full'));
    const watch = { beforeSend, nothingDone() {} };
    await expect(transport.request({ ...request, watch })).rejects.toThrow('disk full');
    await expect(links.create(body)).resolves.toEqual(LINK);
  });

  it('when the service may have forgotten its key before it is sent again', async () => {
    const { links } = await withOneLeft(
      async () => {
        return json({ error: 'no' }, 500, { RateLimit: '"month";r=2;t=2000000' });
      },
      async () => {
        return json({ error: 'no' }, 429, { 'Retry-After': '90000', ...last });
      },
    );
    const call = links.create(body, { idempotency: true });
    await expect(call).rejects.toHaveProperty('outcome', 'unknown');
    await expect(links.create(body)).resolves.toEqual(LINK);
  });

  it('unless its outcome is unknown', async () => {
    const { links } = await withOneLeft(() => Promise.reject(new TypeError('Failed to fetch')));
    await expect(links.create(body)).rejects.toHaveProperty('outcome', 'unknown');
    await expect(links.create(body)).rejects.toHaveProperty('name', 'RateLimitError');
  });
});
