import { describe, expect, it } from 'vitest';
import { Shortlink } from '../src/index.ts';
import { JOB, json, LINK } from './answers.ts';
import { API_KEY, BASE_URL, makeClient } from './make-client.ts';

const RESULT = { target_url: LINK.target_url, code: LINK.code, short_url: LINK.short_url };
const ANSWERS: Record<string, unknown> = {
  '/api/v1/links': LINK,
  '/api/v1/links/batch': { status: 'completed', total: 1, results: [RESULT] },
  '/api/v1/links/lookup': { results: [{ links: [LINK], more: false }] },
  '/api/v1/usage': { plan: 'pro' },
};
const fetch = async (url: string) => json(ANSWERS[new URL(url).pathname] ?? JOB);

/** Each method with these options, which a caller in JavaScript may give. */
const CALLS: Record<string, (options: never) => PromiseLike<unknown>> = {
  'links.create': (options) => client().links.create(LINK, options),
  'links.createBatch': (options) => client().links.createBatch({ links: [LINK] }, options),
  'links.createBatchAndWait': (options) =>
    client().links.createBatchAndWait({ links: [LINK] }, options),
  'links.createMany': (options) => client().links.createMany([LINK], options).next(),
  'links.lookup': (options) => client().links.lookup([LINK], options),
  'jobs.retrieve': (options) => client().jobs.retrieve(JOB.id, options),
  'jobs.wait': (options) => client().jobs.wait(JOB.id, options),
  'usage.retrieve': (options) => client().usage.retrieve(options),
};
const client = () => makeClient({ fetch });

const NULLS = {
  ...{ signal: null, timeoutMs: null, totalTimeoutMs: null, maxRetries: null, headers: null },
  ...{ idempotency: null },
};
const NULLS_OF: Record<string, object> = {
  'links.createBatchAndWait': { ...NULLS, onProgress: null, jobTimeoutMs: null },
  'links.createMany': {
    ...{ batchSize: null, concurrency: null, domain_id: null, headers: null, onBatch: null },
    ...{ idempotencyKey: null, jobTimeoutMs: null, maxDelayMs: null, maxRetries: null },
    ...{ onJobProgress: null, onUnknown: null, resume: null, signal: null, stopSignal: null },
    timeoutMs: null,
  },
  'jobs.wait': { signal: null, timeoutMs: null, total: null, onProgress: null, headers: null },
};

describe.each(Object.entries(CALLS))('%s', (name, call) => {
  it('takes null for no options, and for an option that is not given', async () => {
    await expect(call(null as never)).resolves.toBeDefined();
    await expect(call((NULLS_OF[name] ?? NULLS) as never)).resolves.toBeDefined();
  });

  it.each(['fast', 7, ['x']])('says that options are an object, not %j', async (options) => {
    const ended = (async () => await call(options as never))();
    await expect(ended).rejects.toMatchObject({ option: 'options' });
    await expect(ended).rejects.toThrow('options must be an object');
  });
});

it('a client takes null for an option that is not given', async () => {
  const nulls = {
    ...{ timeoutMs: null, totalTimeoutMs: null, maxRetries: null, maxRetryAfterMs: null },
    ...{ requestsPerMinute: null, maxResponseBytes: null, idempotency: null, headers: null },
    ...{ fetchOptions: null, hooks: null, logger: null, logLevel: null },
  };
  const made = new Shortlink({ apiKey: API_KEY, baseUrl: BASE_URL, fetch, ...(nulls as object) });
  await expect(made.links.create(LINK)).resolves.toEqual(LINK);
  await expect(made.withOptions(nulls as never).links.create(LINK)).resolves.toEqual(LINK);
  await expect(made.withOptions(null as never).links.create(LINK)).resolves.toEqual(LINK);
  expect(() => new Shortlink(null as never)).toThrow('SHORTLINK_API_KEY');
});

it('a key in the place of the options is not shown', () => {
  expect(() => new Shortlink(API_KEY as never)).toThrow(/^options must be an object$/);
});
