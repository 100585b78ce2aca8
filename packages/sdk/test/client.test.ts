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
const loop: object[] = [];
loop.push(loop);
class Broken {
  get target_url(): string {
    throw new Error('no connection to the database');
  }
}
const client = (options = {}) => new Shortlink({ apiKey: API_KEY, baseUrl: BASE_URL, ...options });

describe('the endpoints', () => {
  it('links.create sends the link', async () => {
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

  it('links.create sends exactly the fields of a link, so that a copy of one may be given', async () => {
    const { bodies } = serve('post', '/api/v1/links', () => json(LINK, 201));
    const { target_url, title, tags, redirect_type } = LINK;
    await client().links.create(LINK);
    const row = { ...LINK, domain_id: 'd1', email: 'a@example.com' };
    await client().links.create(row);
    const sent = { target_url, title, tags, redirect_type };
    expect(bodies).toEqual([sent, { ...sent, domain_id: 'd1' }]);
  });

  it('links.create returns what was created though the response is bare or odd', async () => {
    const bare = { code: 'c', short_url: 'https://s.example/c', title: null, redirect_type: '301' };
    serve('post', '/api/v1/links', () => json(bare, 201));
    await expect(client().links.create({ target_url: LINK.target_url })).resolves.toEqual({
      id: '',
      code: 'c',
      short_url: 'https://s.example/c',
      target_url: LINK.target_url,
      title: '',
      redirect_type: 301,
      is_active: true,
      click_count: 0,
      tags: [],
      created_at: '',
    });
  });

  it('links.createBatch sends exactly the fields of its links', async () => {
    const { bodies } = serve('post', '/api/v1/links/batch', () => json({ results: [] }));
    const links = [{ target_url: 'https://a.example', password_hash: 'x' }];
    await client().links.createBatch({ links });
    expect(bodies).toEqual([{ links: [{ target_url: 'https://a.example' }] }]);
  });

  it('links.createBatch knows how many links it sent, where the job does not', async () => {
    serve('post', '/api/v1/links/batch', () => json({ status: 'queued', job_id: 17 }, 202));
    const links = [{ target_url: 'https://a.example' }];
    await expect(client().links.createBatch({ links })).resolves.toEqual({
      status: 'processing',
      job_id: '17',
      total: 1,
    });
  });

  it.each([
    ['a BigInt', () => ({ target_url: 'x', title: 7n })],
    ['a loop', () => ({ target_url: 'x', title: loop })],
    ['a getter that throws', () => new Broken()],
    ['nested tags', () => ({ target_url: 'x', tags: [['a']] })],
    ['an object for a tag', () => ({ target_url: 'x', tags: [{ email: 'y' }] })],
  ])('%s is refused before anything is sent', async (_, makeLink) => {
    const { requests } = serve('post', '/api/v1/links', () => json(LINK, 201));
    const { links } = client();
    const input = JSON.parse('{"link":null}');
    input.link = makeLink();
    const error = { name: 'InvalidOptionError', cause: expect.any(Error) };
    await expect(links.create(input.link)).rejects.toMatchObject(error);
    await expect(links.createBatch({ links: [input.link] })).rejects.toMatchObject(error);
    expect(requests).toHaveLength(0);
  });

  it('links.createMany knows that a link with a BigInt was not sent', async () => {
    const { requests } = serve('post', '/api/v1/links/batch', () => json({ results: [] }));
    const source = JSON.parse('[{"target_url":"https://a.example"}]');
    source[0].title = 7n;
    const steps: string[] = [];
    const options = { onBatch: ({ type }: { type: string }) => void steps.push(type) };
    const items = client().links.createMany(source, options);
    await expect(items.next()).resolves.toMatchObject({ value: { outcome: 'failed' } });
    await expect(items.next()).resolves.toMatchObject({ done: true });
    expect(steps).toEqual(['planned', 'completed']);
    expect(requests).toHaveLength(0);
  });

  it('links.createBatch returns the results of a small batch', async () => {
    const answer = { status: 'completed', total: 1, results: JOB.results };
    const { bodies } = serve('post', '/api/v1/links/batch', () => json(answer));
    const body = { domain_id: 'd1', links: [{ target_url: LINK.target_url }] };
    await expect(client().links.createBatch(body)).resolves.toEqual(answer);
    expect(bodies).toEqual([body]);
  });

  it('links.createBatch returns the job of a large batch', async () => {
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
    await expect(client().jobs.retrieve('a?b')).resolves.toEqual(JOB);
    expect(requests[0]?.url).toBe(`${BASE_URL}/api/v1/jobs/a%3Fb`);
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

describe('a client that is made while a module is loaded', () => {
  afterEach(() => void vi.restoreAllMocks());

  // As Cloudflare Workers do: nothing random, no timer and no request outside of a handler.
  it('asks for nothing that workers refuse there', async () => {
    const forbidden = () => {
      throw new Error('Disallowed operation called within global scope.');
    };
    vi.spyOn(crypto, 'getRandomValues').mockImplementation(forbidden);
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(forbidden);
    vi.spyOn(globalThis, 'fetch').mockImplementation(forbidden);
    const shortlink = client({ idempotency: true, requestsPerMinute: 600 });
    const other = shortlink.withOptions({ maxRetries: 1 });
    vi.restoreAllMocks();
    const { requests } = serve('post', '/api/v1/links', () => json(LINK, 201));
    await shortlink.links.create({ target_url: 'x' });
    await other.links.create({ target_url: 'x' });
    expect(requests).toHaveLength(2);
  });
});

describe('headers', () => {
  it("come from the client and from the call, which wins, and never replace the client's own", async () => {
    const { requests } = serve('post', '/api/v1/links', () => json(LINK, 201));
    const shortlink = client({ headers: { 'X-Team': 'a', 'X-App': 'one' } });
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

describe('headers of another kind', () => {
  it('may be a Headers, of the client and of the call', async () => {
    const { requests } = serve('post', '/api/v1/links', () => json(LINK, 201));
    const shortlink = client({ headers: new Headers({ 'X-Team': 'a', 'X-App': 'one' }) });
    await shortlink.links.create({ target_url: 'x' }, { headers: new Headers({ 'x-team': 'b' }) });
    const headers = Object.fromEntries(requests[0]?.headers ?? []);
    expect(headers).toMatchObject({ 'x-team': 'b', 'x-app': 'one' });
  });

  it('name the client, unless the caller names itself', async () => {
    const { requests } = serve('post', '/api/v1/links', () => json(LINK, 201));
    await client().links.create({ target_url: 'x' });
    await client({ headers: { 'User-Agent': 'my-app/1' } }).links.create({ target_url: 'x' });
    const agents = requests.map(({ headers }) => headers.get('user-agent'));
    expect(agents).toEqual([`shortlink-sdk/0.1.0 node/${process.versions.node}`, 'my-app/1']);
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

  it.each(['a\nb', '', 'x'.repeat(256), 7n, {}])('refuses the key %s', async (key) => {
    const options = JSON.parse('{}');
    options.idempotency = key;
    const call = client().links.create({ target_url: 'x' }, options);
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
