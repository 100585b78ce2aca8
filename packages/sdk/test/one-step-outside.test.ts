import { describe, expect, it } from 'vitest';
import { InvalidOptionError, isOutcomeUnknown, RateLimitError, Shortlink } from '../src/index.ts';
import { json } from './answers.ts';

const KEY = 'sk_test_1234567890';
const client = (fetch: (url: string) => Promise<Response>, options = {}) =>
  new Shortlink({ apiKey: KEY, baseUrl: 'http://service.test', fetch, ...options });
const failure = (call: PromiseLike<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );
const links = [{ target_url: 'https://a.example' }, { target_url: 'https://b.example' }];

describe('createBatchAndWait', () => {
  it('refuses a bad option before it sends anything', async () => {
    let sent = 0;
    const { links: resource } = client(async () => {
      sent += 1;
      return json({ job_id: 'j1' }, 202);
    });
    const error = await failure(
      resource.createBatchAndWait({ links }, { jobTimeoutMs: Number.NaN }),
    );
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error).toMatchObject({ option: 'jobTimeoutMs' });
    expect(sent).toBe(0);
  });

  it('says that links may exist where the job can not be polled', async () => {
    const { links: resource } = client(async () => json({ job_id: 'jobs/1' }, 202));
    const error = await failure(resource.createBatchAndWait({ links }));
    expect(error).toMatchObject({ jobId: 'jobs/1' });
    expect(isOutcomeUnknown(error)).toBe(true);
  });
});

it('an abort of a look-up says nothing about the error that it was aborted with', async () => {
  const hanging = client(() => new Promise(() => undefined));
  const lost = client(async () => {
    throw Object.assign(new Error('reset'), { code: 'ECONNRESET' });
  });
  const error = await failure(lost.links.create({ target_url: 'https://a.example' }));
  expect(isOutcomeUnknown(error)).toBe(true);
  const abort = new AbortController();
  const lookup = failure(hanging.links.lookup(['https://a.example'], { signal: abort.signal }));
  abort.abort(error);
  expect(await lookup).toBe(error);
  expect(isOutcomeUnknown(error)).toBe(true);
});

it('a client that accepts no long wait fails at once, also where one that shares its pace waits', async () => {
  const refuse = async () => json({ error: 'Too many requests' }, 429, { 'retry-after': '1800' });
  const hasty = client(refuse);
  const patient = hasty.withOptions({ maxRetryAfterMs: 3_600_000 });
  const abort = new AbortController();
  const waiting = failure(
    patient.links.create({ target_url: 'https://a.example' }, { signal: abort.signal }),
  );
  await new Promise((resolve) => setTimeout(resolve, 50));
  const error = await failure(hasty.links.create({ target_url: 'https://a.example' }));
  expect(error).toBeInstanceOf(RateLimitError);
  abort.abort();
  await waiting;
});

it('createMany refuses options that there are not', () => {
  const { links: resource } = client(async () => json({}));
  const options: object = { idempotency: true };
  expect(() => resource.createMany(links, options)).toThrow('There is no option idempotency');
});

it('a source is opened once', async () => {
  const { links: resource } = client(async () =>
    json({ results: links.map((link) => ({ ...link, code: 'c', short_url: 'https://s/c' })) }),
  );
  let opened = 0;
  const source = {
    async *[Symbol.asyncIterator]() {
      opened += 1;
      for (const link of links) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        yield link;
      }
    },
  };
  for await (const { outcome } of resource.createMany(source)) expect(outcome).toBe('created');
  expect(opened).toBe(1);
});

it('an API key in the place of the address is not shown', () => {
  const twice = () => new Shortlink({ apiKey: KEY, baseUrl: KEY });
  expect(twice).toThrow(/^baseUrl must be an absolute http: or https: URL$/);
  const swap = () => new Shortlink({ apiKey: 'https://go.example', baseUrl: KEY });
  expect(swap).toThrow(/^apiKey must be visible ASCII characters without spaces, and no address$/);
});

it('a few bad links are all tried, so that a run with them comes to its end', async () => {
  let requests = 0;
  const { links: resource } = client(async () => {
    requests += 1;
    return json({ error: 'target_url is not valid' }, 400);
  });
  const few = Array.from({ length: 60 }, (_, n) => ({ target_url: `https://bad.example/${n}` }));
  const outcomes: string[] = [];
  for await (const { outcome } of resource.createMany(few)) outcomes.push(outcome);
  expect(outcomes).toEqual(few.map(() => 'failed'));
  expect(requests).toBeLessThan(100);
});

describe('wrong options', () => {
  const { links: resource, jobs } = client(() => new Promise(() => undefined));
  const link = { target_url: 'https://a.example' };
  const calls: [string, (options: never) => Promise<unknown>][] = [
    ['create', (options) => resource.create(link, options)],
    ['lookup', (options) => resource.lookup([], options)],
    ['wait', (options) => jobs.wait('j', options)],
    ['createMany', async (options) => resource.createMany([link], options)],
  ];
  // A polyfill of before 2022, which the client can't use.
  const old = { aborted: false, addEventListener: () => undefined };

  it.each(calls)('are named by %s before anything is read or sent', async (_, call) => {
    for (const signal of [{}, old, new AbortController()]) {
      const error = await failure(call({ signal } as never));
      expect(error).toMatchObject({ name: 'InvalidOptionError', option: 'signal' });
    }
    expect(await failure(call({ retry: 1 } as never))).toMatchObject({ option: 'retry' });
  });
});
