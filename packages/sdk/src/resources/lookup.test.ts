import { describe, expect, it, vi } from 'vitest';
import { json, LINK } from '../../test/answers.ts';
import { InstantClock } from '../../test/fake-clock.ts';
import { makeClient } from '../../test/make-client.ts';
import { ApiError, ServerError, UnsupportedError } from '../errors/api-errors.ts';
import {
  ConnectionError,
  InvalidOptionError,
  isOutcomeUnknown,
  ResponseShapeError,
} from '../errors/call-errors.ts';
import type { LookupBody, LookupResult } from '../wire/lookup.ts';

interface Sent {
  url: string;
  body: string;
  asked: Partial<Record<string, unknown[]>>;
  headers: Record<string, string>;
}

/** A client of a service that answers each look-up by `answer`; and what was sent. */
function clientOf(answer: (sent: Sent, attempt: number) => Response, options = {}) {
  const sent: Sent[] = [];
  const clock = new InstantClock();
  const client = makeClient(
    {
      fetch: async (url, { body = '', headers }) => {
        const request = { url, body, headers, asked: JSON.parse(body) };
        sent.push(request);
        return answer(request, sent.length);
      },
      ...options,
    },
    { clock },
  );
  return { links: client.links, sent, clock };
}

const entriesOf = ({ asked }: Sent) => asked['links'] ?? asked['codes'] ?? [];
const found = (target_url: string): LookupResult => ({
  links: [{ ...LINK, target_url }],
  more: false,
});
/** Finds one link for each entry. */
const findAll = (sent: Sent) =>
  json({ results: entriesOf(sent).map((entry) => found(JSON.stringify(entry))) });

describe('links.lookup', () => {
  it('takes URLs, targets with a domain, links and rows, and sends exactly what is asked', async () => {
    const { links, sent } = clientOf(findAll);
    const row = {
      target_url: 'https://e.example/row',
      domain_id: null,
      after: null,
      email: 'a@b.c',
    };
    const results = await links.lookup([
      'https://e.example',
      new URL('https://e.example'),
      { target_url: new URL('https://e.example/d'), domain_id: 'd1', after: 'id-20' },
      row,
      LINK,
    ]);
    const body: LookupBody = {
      links: [
        { target_url: 'https://e.example' },
        { target_url: 'https://e.example/' },
        { target_url: 'https://e.example/d', domain_id: 'd1', after: 'id-20' },
        { target_url: 'https://e.example/row' },
        { target_url: LINK.target_url },
      ],
    };
    expect(sent.map(({ asked }) => asked)).toEqual([body]);
    expect(sent[0]?.url).toMatch(/\/api\/v1\/links\/lookup$/);
    expect(results).toEqual(body.links.map((entry) => found(JSON.stringify(entry))));
  });

  it('takes codes', async () => {
    const { links, sent } = clientOf(findAll);
    expect(await links.lookup({ codes: new Set(['a', 'b']) })).toHaveLength(2);
    expect(sent[0]?.asked).toEqual({ codes: ['a', 'b'] });
  });

  it('cuts any iterable into requests of 10,000 entries, and keeps their order', async () => {
    const { links, sent } = clientOf(findAll);
    async function* targets() {
      for (let n = 0; n < 20_001; n += 1) yield `https://e.example/${n}`;
    }
    const results = await links.lookup(targets());
    expect(sent.map((request) => entriesOf(request).length)).toEqual([10_000, 10_000, 1]);
    expect(results).toHaveLength(20_001);
    expect(results[19_999]?.links[0]?.target_url).toContain('/19999"');
  });

  it('names a wrong entry by its place in the source, also behind a first request', async () => {
    const { links, sent } = clientOf(findAll);
    const codes = [...Array(10_000).fill('a'), 7];
    const option = { option: 'codes[10000]' };
    await expect(links.lookup({ codes: [...codes, 'b'] })).rejects.toMatchObject(option);
    expect(sent).toHaveLength(0);
    await expect(links.lookup({ codes: ['a', ...codes] })).rejects.toMatchObject({
      option: 'codes[10001]',
    });
    expect(sent).toHaveLength(1);
  });

  it('keeps each request below 16 MiB, counted in bytes', async () => {
    const { links, sent } = clientOf(findAll);
    const target = `https://e.example/${'é'.repeat(2_000)}`;
    await links.lookup(Array.from({ length: 8_000 }, () => target));
    expect(sent.length).toBe(3);
    for (const { body } of sent) {
      expect(new TextEncoder().encode(body).length).toBeLessThan(16 * 1024 * 1024 - 1_000_000);
    }
  });

  it('reads no further, and closes its source, once it is aborted', async () => {
    const { links, sent } = clientOf(findAll);
    const controller = new AbortController();
    const reason = new Error('enough');
    let read = 0;
    let isClosed = false;
    async function* endless() {
      try {
        for (;;) {
          read += 1;
          if (read === 3) controller.abort(reason);
          yield 'https://e.example';
        }
      } finally {
        isClosed = true;
      }
    }
    const call = links.lookup(endless(), { signal: controller.signal });
    await expect(call).rejects.toBe(reason);
    await vi.waitFor(() => expect(isClosed).toBe(true));
    expect(read).toBe(3);
    expect(sent).toEqual([]);
  });

  it('sends nothing for nothing', async () => {
    const { links, sent } = clientOf(findAll);
    expect(await links.lookup([])).toEqual([]);
    expect(sent).toEqual([]);
  });

  it('asks again for entries whose links did not fit into the response', async () => {
    const { links, sent } = clientOf((request) => {
      const entries = entriesOf(request);
      const result = (_: unknown, n: number) =>
        n < 2 ? found(JSON.stringify(entries[n])) : { links: [], more: true };
      return json({ results: entries.map(result) });
    });
    const targets = ['a', 'b', 'c', 'd', 'e'].map((name) => `https://e.example/${name}`);
    const results = await links.lookup(targets, { headers: { 'x-trace': 't1' } });
    expect(sent.map((request) => entriesOf(request).length)).toEqual([5, 3, 1]);
    expect(sent.every(({ headers }) => headers['x-trace'] === 't1')).toBe(true);
    expect(results).toEqual(targets.map((target_url) => found(JSON.stringify({ target_url }))));
  });

  it('does not ask for ever where a service never gives the links', async () => {
    const { links, sent } = clientOf((request) =>
      json({ results: entriesOf(request).map(() => ({ links: [], more: true })) }),
    );
    expect(await links.lookup(['https://e.example'])).toEqual([{ links: [], more: true }]);
    expect(sent).toHaveLength(1);
  });
});

describe('a response that would hide a link', () => {
  it.each([
    ['too few results', { results: [found('x')] }, /no result for each of the 2 entries: it has 1/],
    ['too many results', { results: [1, 2, 3].map(() => found('x')) }, /it has 3/],
    ['no results', { links: [] }, /has no results$/],
    ['a result that is null', { results: [found('x'), null] }, /results\[1\]\.links/],
    ['a result without links', { results: [found('x'), { more: false }] }, /results\[1\]\.links/],
    [
      'a link without a code',
      { results: [found('x'), { links: [{ id: '1' }] }] },
      /no code in resu/,
    ],
    ['a link that is none', { results: [found('x'), { links: ['c'] }] }, /no link in results\[1\]/],
  ])('is an error: %s', async (_, body, message) => {
    const { links, sent } = clientOf(() => json(body));
    const error = await links.lookup(['https://a.example', 'https://b.example']).catch(String);
    expect(error).toMatch(message);
    const call = links.lookup(['https://a.example', 'https://b.example']);
    const thrown: unknown = await call.catch((reason: unknown) => reason);
    expect(thrown).toBeInstanceOf(ResponseShapeError);
    expect(isOutcomeUnknown(thrown)).toBe(false);
    expect(sent).toHaveLength(2);
  });

  it('is read leniently otherwise', async () => {
    const link = { code: 7, short_url: 'https://s.example/7', title: null, note: 'kept' };
    const { links } = clientOf(() =>
      json({ results: [{ links: [link], more: 'no', a: 1 }], b: 2 }),
    );
    expect(await links.lookup(['https://a.example'])).toMatchObject([
      { links: [{ code: '7', title: '', tags: [], note: 'kept' }], more: false, a: 1 },
    ]);
  });
});

describe('a look-up that fails', () => {
  const failures: [string, () => Response][] = [
    ...[408, 429, 500, 502, 503, 504].map((status): [string, () => Response] => [
      String(status),
      () => json({ error: 'no' }, status),
    ]),
    [
      'a lost connection',
      () => {
        throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } });
      },
    ],
  ];

  it.each(failures)('is repeated like a GET: %s', async (_, fail) => {
    const { links, sent } = clientOf((request, n) => (n === 1 ? fail() : findAll(request)));
    expect(await links.lookup(['https://e.example'])).toHaveLength(1);
    expect(sent).toHaveLength(2);
  });

  it('is repeated after a timeout', async () => {
    let calls = 0;
    const { links } = makeClient({
      timeoutMs: 20,
      fetch: (_, { body = '', signal }) => {
        calls += 1;
        if (calls > 1) return Promise.resolve(findAll({ asked: JSON.parse(body) } as Sent));
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
        });
      },
    });
    expect(await links.lookup(['https://e.example'])).toHaveLength(1);
  });

  it('waits as long as the service asks for while a job is running', async () => {
    const busy = () => json({ error: 'a job is running' }, 503, { 'Retry-After': '3' });
    const { links, sent, clock } = clientOf((sent, n) => (n < 3 ? busy() : findAll(sent)));
    await links.lookup(['https://e.example']);
    expect(sent).toHaveLength(3);
    expect(clock.delays.slice(0, 2)).toEqual([3_000, 3_000]);
  });

  it.each(failures)('never has an unknown outcome: %s', async (_, fail) => {
    const { links, sent } = clientOf(fail, { maxRetries: 1, idempotency: true });
    const error: unknown = await links.lookup(['https://e.example']).catch((e: unknown) => e);
    expect(ApiError.isInstance(error) || ConnectionError.isInstance(error)).toBe(true);
    expect(isOutcomeUnknown(error)).toBe(false);
    expect(sent).toHaveLength(2);
    expect(Object.keys(sent[0]?.headers ?? {})).not.toContain('idempotency-key');
  });

  it('is not repeated for another request of the caller: a create is still sent once', async () => {
    const { links, sent } = clientOf(() => json({ error: 'no' }, 500));
    const error: unknown = await links.create({ target_url: 'x' }).catch((e: unknown) => e);
    expect(sent).toHaveLength(1);
    expect(ServerError.isInstance(error) && isOutcomeUnknown(error)).toBe(true);
  });

  it.each([404, 405, 501])('says that the service has no look-up: %i', async (status) => {
    const { links, sent } = clientOf(() =>
      json({ error: 'Cannot POST', code: 'not_found' }, status),
    );
    const error: unknown = await links.lookup(['https://e.example']).catch((e: unknown) => e);
    expect(UnsupportedError.isInstance(error) && ApiError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({
      name: 'UnsupportedError',
      message: expect.stringContaining('The service has no look-up of links: '),
      status,
      code: 'not_found',
      body: { error: 'Cannot POST' },
    });
    expect(isOutcomeUnknown(error)).toBe(false);
    expect(sent).toHaveLength(1);
  });
});

describe('wrong use is said before anything is sent', () => {
  it.each([
    ['a string', 'https://e.example', /entries must be iterable or async iterable, not "https/],
    ['nothing', undefined, /entries must be iterable or async iterable, not undefined/],
    ['one target', { target_url: 'x' }, /entries must be iterable/],
    ['one code', { codes: 'abc' }, /codes must be iterable or async iterable, not "abc"/],
    ['a number', ['https://e.example', 7], /entries\[1\] must be a target, such as .*, not 7/],
    ['null', [null], /entries\[0\] must be a target/],
    ['another field', [{ url: 'x' }], /entries\[0\] must be a target/],
    ['a code that is a number', { codes: [7] }, /codes\[0\] must be the code of a link, not 7/],
  ])('%s', async (_, entries, message) => {
    const { links, sent } = clientOf(findAll);
    const call = links.lookup(entries as never);
    await expect(call).rejects.toThrow(InvalidOptionError);
    await expect(call).rejects.toThrow(message);
    expect(sent).toEqual([]);
  });
});
