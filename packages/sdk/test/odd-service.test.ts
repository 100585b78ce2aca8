import { describe, expect, it } from 'vitest';
import type { Fetch } from '../src/options.ts';
import type { BatchResultItem } from '../src/wire/batch.ts';
import { json, LINK } from './answers.ts';
import { InstantClock } from './fake-clock.ts';
import { links } from './fake-service.ts';
import { makeClient } from './make-client.ts';
import { outcomes } from './run-create-many.ts';

/** What a service may do that the documented one does not, and what a network may do to its responses. */

const results = (count: number, item: Partial<BatchResultItem> = {}) =>
  links(count).map(({ target_url }, index) => {
    const code = `c${index}`;
    return { target_url, code, short_url: `https://go.example.com/${code}`, ...item };
  });

/** A service that makes a job of each batch, whose n-th poll (from 1) gets this response. */
function jobService(count: number, respond: (poll: number) => Response | undefined) {
  let polls = 0;
  const fetch: Fetch = async (url) => {
    if (!url.includes('/jobs/')) return json({ job_id: 'j', total: count }, 202);
    polls += 1;
    const done = { id: 'j', status: 'completed', total: count, processed: count };
    return respond(polls) ?? json({ ...done, results: results(count) });
  };
  return { ...makeClient({ fetch }, { clock: new InstantClock() }), polls: () => polls };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

const unfinished = json({ id: 'j', status: 'processing', total: 3, processed: 1 });

describe('the job of a batch', () => {
  const PASSING: [string, (poll: number) => Response | undefined][] = [
    ['is not found at first', (poll) => (poll < 4 ? json({ error: 'no job' }, 404) : undefined)],
    [
      'is not found for a moment while it runs',
      (poll) =>
        [unfinished.clone(), json({ error: 'no job' }, 404), json({ error: 'no job' }, 404)][
          poll - 1
        ],
    ],
    ['is cut off', (poll) => (poll < 3 ? new Response('{"id":"j","status":"comp') : undefined)],
    ['is empty', (poll) => (poll < 3 ? new Response('') : undefined)],
    [
      'is the page of a proxy',
      (poll) => (poll < 3 ? new Response('<html>One moment</html>', { status: 200 }) : undefined),
    ],
    ['is a list', (poll) => (poll < 3 ? json([]) : undefined)],
  ];
  it.each(PASSING)('is followed to its end although it %s', async (_, respond) => {
    const { links: client } = jobService(3, respond);
    expect(outcomes(await collect(client.createMany(links(3))))).toBe('ccc');
  });

  it('is given up when it stays unknown, or unreadable, for several polls in a row', async () => {
    const gone = jobService(3, () => json({ error: 'no job' }, 404));
    const items = gone.links.createMany(links(3), { onUnknown: 'continue' });
    expect(outcomes(await collect(items))).toBe('uuu');
    expect(gone.polls()).toBeLessThanOrEqual(6);
    const odd = jobService(3, () => new Response('<html>'));
    await expect(odd.jobs.wait('j')).rejects.toMatchObject({ name: 'ResponseShapeError' });
    expect(odd.polls()).toBeLessThanOrEqual(6);
  });

  it('may be odd for a few polls after more that failed temporarily', async () => {
    const down = () => json({ error: 'down' }, 503);
    const page = () => new Response('<html>One moment</html>');
    const failures = [...Array.from({ length: 7 }, () => down), page, down, page];
    const { jobs, polls } = jobService(3, (poll) => failures[poll - 1]?.());
    await expect(jobs.wait('j', { maxRetries: 0 })).resolves.toMatchObject({ processed: 3 });
    expect(polls()).toBe(failures.length + 1);
  });

  it('is not polled again when it was never seen and is not found', async () => {
    const { jobs, polls } = jobService(3, () => json({ error: 'no job' }, 404));
    await expect(jobs.wait('j')).rejects.toMatchObject({ name: 'NotFoundError' });
    expect(polls()).toBe(1);
  });
});

describe('a response', () => {
  it('may have a reason that is nested too deep to be written', async () => {
    const depth = 200_000;
    const deep = `${'['.repeat(depth)}1${']'.repeat(depth)}`;
    const [first, second] = results(2);
    const body = `{"results":[{"target_url":"https://example.com/0","error":${deep}},${JSON.stringify(second)}]}`;
    expect(first).toBeDefined();
    const { links: client } = makeClient({ fetch: async () => new Response(body) });
    expect(outcomes(await collect(client.createMany(links(2))))).toBe('fc');
  });

  it('may begin with a byte order mark, and come in pieces that cut characters', async () => {
    const title = 'é😀';
    const bytes = new TextEncoder().encode(`\ufeff${JSON.stringify({ ...LINK, title })}`);
    const pieces = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const { links: client } = makeClient({ fetch: async () => new Response(pieces) });
    await expect(client.create({ target_url: LINK.target_url })).resolves.toMatchObject({ title });
  });

  it('may have one status for every success', async () => {
    for (const status of [200, 202, 207]) {
      const { links: client } = makeClient({ fetch: async () => json(LINK, status) });
      await expect(client.create(LINK)).resolves.toMatchObject({ code: LINK.code });
      const batch = makeClient({ fetch: async () => json({ results: results(2) }, status) });
      expect(outcomes(await collect(batch.links.createMany(links(2))))).toBe('cc');
    }
  });

  it('may name each link in its own way, in the order of the links', async () => {
    const spelled = results(3).map((item) => ({
      ...item,
      target_url: `${item.target_url}?ref=1#x`,
    }));
    const { links: client } = makeClient({ fetch: async () => json({ results: spelled }) });
    const items = await collect(client.createMany(links(3)));
    expect(items).toMatchObject(spelled.map(({ code }) => ({ outcome: 'created', code })));
  });

  it('may give one link to several entries with the same target', async () => {
    const same = Array.from({ length: 3 }, () => ({ target_url: 'https://example.com/' }));
    const shared = same.map((link) => ({ ...link, code: 'c', short_url: 'https://s.example/c' }));
    const { links: client } = makeClient({ fetch: async () => json({ results: shared }) });
    expect(outcomes(await collect(client.createMany(same)))).toBe('ccc');
  });

  it('may state a quota of something else than requests', async () => {
    const clock = new InstantClock();
    const headers = {
      RateLimit: '"bytes";r=0;t=60, "open";r=0;t=60',
      'RateLimit-Policy':
        '"bytes";q=9;w=60;qu="content-bytes", "open";qu="concurrent-requests";q=1',
    };
    const { links: client } = makeClient(
      { fetch: async () => json(LINK, 201, headers) },
      { clock },
    );
    await client.create(LINK);
    await client.create(LINK);
    expect(clock.delays).toEqual([]);
  });

  it('may be a 429 that names no time, again and again, without ending a bulk run that may wait', async () => {
    let calls = 0;
    const fetch: Fetch = async () => {
      calls += 1;
      return calls < 5 ? json({ error: 'slow down' }, 429) : json({ results: results(2) });
    };
    const { links: client } = makeClient({ fetch });
    expect(outcomes(await collect(client.createMany(links(2))))).toBe('cc');
  });
});
