import process from 'node:process';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { JOB, json, LINK } from '../../test/answers.ts';
import { settle } from '../../test/fake-clock.ts';
import { makeClient } from '../../test/make-client.ts';
import { type Logger, makeLog } from './watching.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const answers =
  (...responses: Response[]) =>
  async () =>
    responses.shift() ?? json(LINK, 201);
const tooMany = () => json({ error: 'no' }, 429, { 'Retry-After': '3' });
const create = (client: ReturnType<typeof makeClient>) =>
  client.links.create({ target_url: LINK.target_url });

describe('hooks', () => {
  /** A client that keeps every event, by the name of its hook. */
  function watch(options: Parameters<typeof makeClient>[0]) {
    const events: [string, Record<string, unknown>][] = [];
    const keep = (name: string) => (event: object) => void events.push([name, { ...event }]);
    const hooks = {
      onRequest: keep('request'),
      onResponse: keep('response'),
      onRetry: keep('retry'),
      onCooldown: keep('cooldown'),
      onEnd: keep('end'),
    };
    return { client: makeClient({ hooks, ...options }), events };
  }

  it('are called for each attempt, response, retry, cooldown and end, with the id of the call', async () => {
    const ok = json(LINK, 201, { 'X-Request-Id': 'r2' });
    const { client, events } = watch({ fetch: answers(tooMany(), ok) });
    await create(client);
    const id = expect.stringMatching(/^[\da-f]{32}$/);
    const call = { id, method: 'POST', path: '/api/v1/links' };
    const first = { ...call, attempt: 1 };
    const second = { ...call, attempt: 2 };
    const timing = { durationMs: 0, quota: [] };
    expect(events).toEqual([
      ['request', first],
      ['response', { ...first, status: 429, requestId: undefined, ...timing }],
      ['cooldown', { id, waitMs: 3000, retryAfterMs: 3000 }],
      ['retry', { ...first, error: expect.objectContaining({ status: 429 }), waitMs: 3000 }],
      ['request', second],
      ['response', { ...second, status: 201, requestId: 'r2', ...timing }],
      ['end', { ...call, attempts: 2, durationMs: 3000, error: undefined }],
    ]);
    expect(new Set(events.map(([, event]) => event['id'])).size).toBe(1);
  });

  it('give each call an id of its own', async () => {
    const { client, events } = watch({ fetch: answers() });
    await Promise.all([create(client), create(client)]);
    expect(new Set(events.map(([, event]) => event['id'])).size).toBe(2);
  });

  it.each([
    ['a status', async () => json({ error: 'no' }, 400), 'BadRequestError'],
    ['a response that can not be read', async () => new Response('no'), 'ResponseShapeError'],
    [
      'a refused connection',
      () => Promise.reject(Object.assign(new Error('no'), { code: 'ECONNREFUSED' })),
      'ConnectionError',
    ],
  ])('hear of the end of a call that fails with %s', async (_, fetch, name) => {
    const { client, events } = watch({ fetch, maxRetries: 1 });
    const error = await create(client).catch((error: unknown) => error);
    expect(error).toHaveProperty('name', name);
    const ends = events.filter(([hook]) => hook === 'end');
    expect(ends).toEqual([['end', expect.objectContaining({ error, path: '/api/v1/links' })]]);
    const attempts = events.filter(([hook]) => hook === 'request').length;
    expect(ends[0]?.[1]['attempts']).toBe(attempts);
  });

  it('hear of the end of a call that is aborted, or never got its turn', async () => {
    const { client, events } = watch({ fetch: () => new Promise(() => {}) });
    const reason = new Error('enough');
    const aborted = client.links.create({ target_url: 'x' }, { signal: AbortSignal.abort(reason) });
    await expect(aborted).rejects.toBe(reason);
    expect(events).toEqual([['end', expect.objectContaining({ attempts: 0, error: reason })]]);
  });

  it('that throw or reject break nothing, and are logged', async () => {
    const error = vi.fn();
    const logger = { debug() {}, info() {}, warn() {}, error };
    const failure = new Error('hook');
    const hooks = {
      onRequest() {
        throw failure;
      },
      async onResponse() {
        throw failure;
      },
    };
    await expect(create(makeClient({ hooks, logger, fetch: answers() }))).resolves.toEqual(LINK);
    await settle();
    expect(error.mock.calls).toEqual([
      ['onRequest threw', { error: failure }],
      ['onResponse threw', { error: failure }],
    ]);
  });

  it('may be some of them only', async () => {
    const error = vi.fn();
    const logger = { debug() {}, info() {}, warn() {}, error };
    const onRequest = vi.fn();
    await create(makeClient({ hooks: { onRequest }, logger, fetch: answers(tooMany()) }));
    expect(onRequest).toHaveBeenCalledTimes(2);
    expect(error).not.toHaveBeenCalled();
  });

  it('are methods of their object, which keeps its own state', async () => {
    class Counter {
      requests = 0;
      onRequest() {
        this.requests += 1;
      }
    }
    const counter = new Counter();
    await create(makeClient({ hooks: counter, fetch: answers() }));
    expect(counter.requests).toBe(1);
  });
});

describe('the logger', () => {
  it('gets a line for each step', async () => {
    const lines: string[] = [];
    const keep = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
    const logger = {
      debug: keep('debug'),
      info: keep('info'),
      warn: keep('warn'),
      error: keep('error'),
    };
    await create(makeClient({ logger, fetch: answers(tooMany()) }));
    expect(lines).toEqual([
      'debug: request',
      'debug: response',
      'warn: rate limited, the client pauses',
      'info: retry',
      'debug: request',
      'debug: response',
      'debug: end',
    ]);
  });

  it('gets the reason of a call that failed without a response', async () => {
    const debug = vi.fn();
    const logger = { debug, info() {}, warn() {}, error() {} };
    const fetch = () => Promise.reject(new TypeError('fetch failed'));
    await create(makeClient({ logger, fetch, maxRetries: 0 })).catch(() => undefined);
    const reason = expect.stringContaining('ConnectionError: ');
    expect(debug).toHaveBeenLastCalledWith('end', expect.objectContaining({ reason }));
  });

  it('gets the reason and the wait of a retry', async () => {
    const info = vi.fn();
    const logger = { debug() {}, info, warn() {}, error() {} };
    await create(makeClient({ logger, fetch: answers(tooMany()) }));
    const fields = { attempt: 1, waitMs: 3000, reason: 'RateLimitError: no' };
    expect(info).toHaveBeenCalledExactlyOnceWith('retry', expect.objectContaining(fields));
  });

  it('that rejects leaves no unhandled rejection', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const fail = async () => {
      throw new Error('disk full');
    };
    const logger = { debug: fail, info: fail, warn: fail, error: fail };
    await expect(create(makeClient({ logger, fetch: answers() }))).resolves.toEqual(LINK);
    await settle();
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('that throws breaks nothing', async () => {
    const fail = () => {
      throw new Error('disk full');
    };
    const logger = { debug: fail, info: fail, warn: fail, error: fail };
    await expect(create(makeClient({ logger, fetch: answers() }))).resolves.toEqual(LINK);
  });
});

const spies = () => {
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  return levels.map((level) => vi.spyOn(console, level).mockImplementation(() => {}));
};

describe('SHORTLINK_LOG', () => {
  it('is silence where it is not set', async () => {
    vi.stubEnv('SHORTLINK_LOG', '');
    const consoles = spies();
    await create(makeClient({ fetch: answers(tooMany()) }));
    for (const spy of consoles) expect(spy).not.toHaveBeenCalled();
  });

  it('sends lines from its level on to the console', async () => {
    vi.stubEnv('SHORTLINK_LOG', 'info');
    const [debug, info, warn] = spies();
    await create(makeClient({ fetch: answers(tooMany()) }));
    expect(debug).not.toHaveBeenCalled();
    expect(info).toHaveBeenCalledOnce();
    expect(warn).toHaveBeenCalledWith(
      'shortlink: rate limited, the client pauses',
      expect.objectContaining({ waitMs: 3000 }),
    );
  });

  it('may be trace, which is debug', () => {
    const [debug] = spies();
    makeLog(undefined, undefined, 'trace')('debug', 'request', {});
    expect(debug).toHaveBeenCalledOnce();
  });

  it('is reported once, and logs nothing, when it is no level', async () => {
    vi.stubEnv('SHORTLINK_LOG', 'loud');
    const [debug, info, warn, error] = spies();
    await create(makeClient({ fetch: answers(tooMany()) }));
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      'shortlink: nothing is logged: SHORTLINK_LOG must be one of debug, info, warn, error, silent',
      { setting: 'loud' },
    );
    for (const spy of [debug, info, error]) expect(spy).not.toHaveBeenCalled();
  });

  it('is not looked for where there is no process, or where reading it is not allowed', async () => {
    const retrieve = () => makeClient({ fetch: async () => json(JOB) }).jobs.retrieve('x');
    vi.stubGlobal('process', undefined);
    await expect(retrieve()).resolves.toEqual(JOB);
    const env = new Proxy(
      {},
      {
        get: () => {
          throw new Error('NotCapable');
        },
      },
    );
    vi.stubGlobal('process', { env });
    await expect(retrieve()).resolves.toEqual(JOB);
  });
});

describe('logLevel', () => {
  it('sends lines from its level on to the console', async () => {
    const consoles = spies();
    await create(makeClient({ logLevel: 'warn', fetch: answers(tooMany()) }));
    const calls = consoles.map((spy) => spy.mock.calls.length);
    expect(calls).toEqual([0, 0, 1, 0]);
  });

  it("leaves out the lines below it of the caller's own logger", async () => {
    const lines: string[] = [];
    const keep = (message: string) => void lines.push(message);
    const logger = { debug: keep, info: keep, warn: keep, error: keep };
    await create(makeClient({ logger, logLevel: 'info', fetch: answers(tooMany()) }));
    expect(lines).toEqual(['rate limited, the client pauses', 'retry']);
    lines.length = 0;
    await create(makeClient({ logger, logLevel: 'silent', fetch: answers(tooMany()) }));
    expect(lines).toEqual([]);
  });

  it('leaves out the lines that a logger of plain JavaScript has no method for', async () => {
    const lines: string[] = [];
    const logger = { error: (message: string) => void lines.push(message) } as unknown as Logger;
    const client = makeClient({ logger, logLevel: 'debug', fetch: answers(tooMany()) });
    await expect(create(client)).resolves.toBeDefined();
    expect(lines).toEqual([]);
  });

  it('wins over the environment', async () => {
    vi.stubEnv('SHORTLINK_LOG', 'debug');
    const consoles = spies();
    await create(makeClient({ logLevel: 'silent', fetch: answers(tooMany()) }));
    for (const spy of consoles) expect(spy).not.toHaveBeenCalled();
  });

  it('is refused when it is no level', () => {
    const options = JSON.parse('{"logLevel":"loud"}');
    expect(() => makeClient(options)).toThrow('logLevel must be one of debug, info');
  });
});
