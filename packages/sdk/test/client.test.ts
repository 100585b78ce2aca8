import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Shortlink } from '../src/index.ts';
import { JOB, json, LINK } from './answers.ts';
import { API_KEY, BASE_URL } from './make-client.ts';

const server = setupServer();
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }));
afterEach(() => {
  server.resetHandlers();
  vi.unstubAllEnvs();
});
afterAll(() => server.close());

/** Answers every request to a path, and keeps what was sent. */
function serve(method: 'get' | 'post', path: string, answer: () => Response) {
  const requests: Request[] = [];
  const bodies: unknown[] = [];
  server.use(
    http[method](BASE_URL + path, async ({ request }) => {
      requests.push(request);
      if (method === 'post') bodies.push(await request.clone().json());
      return answer();
    }),
  );
  return { requests, bodies };
}
const client = (options = {}) => new Shortlink({ apiKey: API_KEY, baseUrl: BASE_URL, ...options });

describe('the endpoints', () => {
  it('links.create sends the link as it is given', async () => {
    const { requests, bodies } = serve('post', '/api/v1/links', () => json(LINK, 201));
    const body = {
      target_url: LINK.target_url,
      title: 'Docs',
      redirect_type: 301,
      tags: ['docs'],
    } as const;
    await expect(client().links.create(body)).resolves.toEqual(LINK);
    expect(bodies).toEqual([body]);
    const headers = Object.fromEntries(requests[0]?.headers ?? []);
    expect(headers).toMatchObject({
      'x-api-key': API_KEY,
      'content-type': 'application/json',
      accept: 'application/json',
    });
    expect(headers).not.toHaveProperty('idempotency-key');
  });

  it('links.createBatch answers a small batch with its results', async () => {
    const answer = { status: 'completed', total: 1, results: JOB.results };
    const { bodies } = serve('post', '/api/v1/links/batch', () => json(answer));
    const body = { domain_id: 'd1', links: [{ target_url: LINK.target_url }] };
    await expect(client().links.createBatch(body)).resolves.toEqual(answer);
    expect(bodies).toEqual([body]);
  });

  it('links.createBatch answers a large batch with its job', async () => {
    const answer = { status: 'processing', job_id: JOB.id, total: 101 };
    serve('post', '/api/v1/links/batch', () => json(answer, 202));
    await expect(client().links.createBatch({ links: [] })).resolves.toEqual(answer);
  });

  it('links.createMany sends batches and waits for their jobs', async () => {
    const results = Array.from({ length: 101 }, (_, n) => ({
      target_url: `https://example.com/${n}`,
      code: `c${n}`,
      short_url: `https://go.example.com/c${n}`,
    }));
    const accepted = { status: 'processing', job_id: JOB.id, total: 101 };
    serve('post', '/api/v1/links/batch', () => json(accepted, 202));
    serve('get', '/api/v1/jobs/:id', () =>
      json({ id: JOB.id, status: 'completed', total: 101, processed: 101, results }),
    );
    const codes: unknown[] = [];
    const source = results.map(({ target_url }) => ({ target_url }));
    for await (const item of client().links.createMany(source)) {
      codes.push(item.outcome === 'created' && item.code);
    }
    expect(codes).toEqual(results.map(({ code }) => code));
  });

  it('jobs.retrieve asks for the job by its id', async () => {
    const { requests } = serve('get', '/api/v1/jobs/:id', () => json(JOB));
    await expect(client().jobs.retrieve('a/b')).resolves.toEqual(JOB);
    expect(requests[0]?.url).toBe(`${BASE_URL}/api/v1/jobs/a%2Fb`);
    expect(requests[0]?.headers.has('content-type')).toBe(false);
  });

  it('usage.retrieve reads the usage', async () => {
    const window = { used: 1, limit: null, resets_at: '2026-11-21T00:00:00Z' };
    const usage = {
      plan: 'custom',
      requests: { minute: window, day: window, month: window },
      links: { used: 1, limit: 10 },
      api_keys: { used: 1, limit: null },
      batch_size: 10_000,
      keys: [],
    };
    serve('get', '/api/v1/usage', () => json(usage));
    await expect(client().usage.retrieve()).resolves.toEqual(usage);
  });
});

describe('headers', () => {
  it("come from the client and from the call, which wins, and never replace the client's own", async () => {
    const { requests } = serve('post', '/api/v1/links', () => json(LINK, 201));
    const shortlink = client({ headers: { 'X-Team': 'a', 'X-App': 'one', 'X-API-KEY': 'no' } });
    await shortlink.links.create(
      { target_url: 'x' },
      { headers: { 'x-team': 'b', 'content-type': 'text/plain', accept: '*/*' } },
    );
    expect(Object.fromEntries(requests[0]?.headers ?? [])).toMatchObject({
      'x-team': 'b',
      'x-app': 'one',
      'x-api-key': API_KEY,
      'content-type': 'application/json',
      accept: 'application/json',
    });
  });
});

describe('idempotency', () => {
  it('gives each logical POST a key of its own, and a GET none', async () => {
    const { requests } = serve('post', '/api/v1/links', () => json(LINK, 201));
    const polls = serve('get', '/api/v1/jobs/:id', () => json(JOB));
    const shortlink = client({ idempotency: true });
    await shortlink.links.create({ target_url: 'x' });
    await shortlink.links.create({ target_url: 'x' });
    await shortlink.jobs.retrieve('x');
    const keys = requests.map(({ headers }) => headers.get('idempotency-key'));
    expect(new Set(keys).size).toBe(2);
    expect(polls.requests[0]?.headers.has('idempotency-key')).toBe(false);
  });

  it('takes a key from the call, and can be turned off by it', async () => {
    const { requests } = serve('post', '/api/v1/links', () => json(LINK, 201));
    const shortlink = client({ idempotency: true });
    await shortlink.links.create({ target_url: 'x' }, { idempotency: 'order-7' });
    await shortlink.links.create({ target_url: 'x' }, { idempotency: false });
    const keys = requests.map(({ headers }) => headers.get('idempotency-key'));
    expect(keys).toEqual(['order-7', null]);
  });

  it('refuses a key that no header can carry', async () => {
    const call = client().links.create({ target_url: 'x' }, { idempotency: 'a\nb' });
    await expect(call).rejects.toMatchObject({ name: 'InvalidOptionError', option: 'idempotency' });
  });
});

describe('redirects', () => {
  it('are not followed, so that the API key goes nowhere else', async () => {
    const elsewhere = vi.fn(() => HttpResponse.json(LINK));
    server.use(http.all('https://elsewhere.example/*', elsewhere));
    const headers = { Location: 'https://elsewhere.example/api/v1/links' };
    serve('post', '/api/v1/links', () => new Response(null, { status: 307, headers }));
    await expect(client().links.create({ target_url: 'x' })).rejects.toMatchObject({
      name: 'ApiError',
      status: 307,
      message: expect.stringContaining('https://elsewhere.example/'),
    });
    expect(elsewhere).not.toHaveBeenCalled();
  });
});

describe('the environment', () => {
  it('gives key and address where the options do not', async () => {
    vi.stubEnv('SHORTLINK_API_KEY', 'from-env');
    vi.stubEnv('SHORTLINK_BASE_URL', `${BASE_URL}/`);
    const { requests } = serve('post', '/api/v1/links', () => json(LINK, 201));
    await new Shortlink().links.create({ target_url: 'x' });
    expect(requests[0]?.headers.get('x-api-key')).toBe('from-env');
  });

  it.each([
    ['apiKey', { baseUrl: BASE_URL }, 'SHORTLINK_API_KEY'],
    ['baseUrl', { apiKey: API_KEY }, 'SHORTLINK_BASE_URL'],
  ])('is named when %s is given nowhere', (option, options, variable) => {
    vi.stubEnv('SHORTLINK_API_KEY', '');
    vi.stubEnv('SHORTLINK_BASE_URL', '');
    const make = () => new Shortlink(options);
    expect(make).toThrow(expect.objectContaining({ name: 'InvalidOptionError', option }));
    expect(make).toThrow(variable);
  });
});

it("shows the caller's own line in the stack of an error", async () => {
  serve('post', '/api/v1/links', () => json({ error: 'no' }, 400));
  async function theCallersFunction() {
    return await client().links.create({ target_url: 'x' });
  }
  const error = await theCallersFunction().catch((thrown: unknown) => thrown);
  expect(error).toHaveProperty('stack', expect.stringContaining('BadRequestError: no'));
  expect(error).toHaveProperty('stack', expect.stringContaining('theCallersFunction'));
});
