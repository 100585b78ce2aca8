import { beforeEach, describe, expect, test } from 'vitest';
import { BATCH, entries, Fixture, PUBLIC_URL, TARGET } from './fixture.ts';

let app: Fixture;
let key: string;
beforeEach(async () => {
  app = await Fixture.open();
  key = await app.caller();
});

const targetsOf = (items: { target_url: string }[]) => items.map((item) => item.target_url);

describe('a batch of 100 or fewer', () => {
  test.each([1, 2, 100])('%i links are answered with 200 and results in order', async (count) => {
    const links = entries(count);
    const { status, json } = await app.post(key, BATCH, { links });
    expect(status).toBe(200);
    expect(Object.keys(json).sort()).toEqual(['results', 'status', 'total']);
    expect(json).toMatchObject({ status: 'completed', total: count });
    expect(targetsOf(json.results)).toEqual(targetsOf(links));
    for (const item of json.results) {
      expect(item.short_url).toBe(`${PUBLIC_URL}/${item.code}`);
      expect((await app.send(`/${item.code}`)).headers.get('location')).toBe(item.target_url);
    }
    expect(await app.linksUsed(key)).toBe(count);
  });

  test('keeps the title, tags and redirect_type of each entry', async () => {
    const links = [
      { target_url: TARGET, title: 'T', tags: ['a'], redirect_type: 301 },
      ...entries(1),
    ];
    const { json } = await app.post(key, BATCH, { links });
    const [first, second] = json.results;
    expect(await app.store.findLink(first.code)).toMatchObject(links[0] ?? {});
    expect(await app.store.findLink(second.code)).toMatchObject({ title: '', redirect_type: 302 });
  });

  test('the same target twice makes two links', async () => {
    const { json } = await app.post(key, BATCH, { links: [...entries(1), ...entries(1)] });
    expect(json.results[0].code).not.toBe(json.results[1].code);
  });
});

describe('a batch of more than 100', () => {
  test.each([101, 10_000])('%i links are accepted with 202 and a job id', async (count) => {
    const { status, json, headers } = await app.post(key, BATCH, { links: entries(count) });
    expect(status).toBe(202);
    expect(json).toEqual({
      job_id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      status: 'processing',
      total: count,
    });
    expect(headers.get('location')).toBe(`/api/v1/jobs/${json.job_id}`);
    expect(await app.linksUsed(key)).toBe(count);
  });

  test('tells whoever runs jobs', async () => {
    const accepted: string[] = [];
    app = await Fixture.open({
      jobs: { notify: (jobId) => accepted.push(jobId), pendingJobs: 0 },
    });
    const { json } = await app.post(await app.caller(), BATCH, { links: entries(101) });
    expect(accepted).toEqual([json.job_id]);
  });
});

describe('polling a job', () => {
  test('shows id, status, total, processed and the results so far, in order', async () => {
    const links = entries(1_200);
    const { json: accepted } = await app.post(key, BATCH, { links });
    const path = `/api/v1/jobs/${accepted.job_id}`;
    expect((await app.get(key, path)).json).toEqual({
      id: accepted.job_id,
      status: 'processing',
      total: 1_200,
      processed: 0,
      results: [],
    });

    await app.store.runJobChunk(accepted.job_id, app.now);
    const { json: running } = await app.get(key, path);
    expect(running.status).toBe('processing');
    expect(running.processed).toBeGreaterThan(0);
    expect(running.processed).toBeLessThan(1_200);
    expect(targetsOf(running.results)).toEqual(targetsOf(links.slice(0, running.processed)));

    await app.runJob(accepted.job_id);
    const answer = await app.get(key, path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.json).toMatchObject({ status: 'completed', total: 1_200, processed: 1_200 });
    expect(targetsOf(answer.json.results)).toEqual(targetsOf(links));
    const [first] = answer.json.results;
    expect(first.short_url).toBe(`${PUBLIC_URL}/${first.code}`);
  });

  test('any key of the account may poll; another account gets 404, as for an unknown job', async () => {
    const accountId = await app.account();
    const writer = await app.key(accountId);
    const reader = await app.key(accountId, 'analytics:read');
    const { json } = await app.post(writer, BATCH, { links: entries(101) });
    const path = `/api/v1/jobs/${json.job_id}`;
    expect((await app.get(reader, path)).status).toBe(200);
    const upperCase = `/api/v1/jobs/${json.job_id.toUpperCase()}`;
    expect((await app.get(reader, upperCase)).json.id).toBe(json.job_id);
    const foreign = await app.get(key, path);
    const unknown = await app.get(key, '/api/v1/jobs/0190a000-0000-7000-8000-000000000000');
    for (const answer of [foreign, unknown]) {
      expect(answer.status).toBe(404);
      expect(answer.json).toEqual({ error: 'Job not found.', code: 'not_found' });
    }
  });

  test.each(['x', '%00%ff..', `${'a'.repeat(5_000)}`, "'%20OR%201=1"])(
    'the id %j is 404 as well',
    async (id) => {
      expect((await app.get(key, `/api/v1/jobs/${id}`)).status).toBe(404);
    },
  );
});

describe('a refused batch creates nothing', () => {
  const cases: [name: string, body: object, message: RegExp][] = [
    ['no links', {}, /^links is required$/],
    ['links that are no array', { links: { 0: TARGET } }, /^links must be an array$/],
    ['empty links', { links: [] }, /^links must not be empty$/],
    [
      '10,001 links',
      { links: entries(10_001) },
      /^links must have at most 10000 entries, not 10001$/,
    ],
    ['a domain_id that is no string', { links: entries(1), domain_id: 1 }, /^domain_id must be a/],
    ['an unknown domain_id', { links: entries(1), domain_id: 'dom_x' }, /^domain_id is not a dom/],
    [
      'an entry that is text',
      { links: [...entries(2), TARGET] },
      /^links\[2\]: must be a JSON obj/,
    ],
    ['an entry that is null', { links: [null] }, /^links\[0\]: must be a JSON object$/],
    ['an entry that is an array', { links: [[]] }, /^links\[0\]: must be a JSON object$/],
    ['an entry without target', { links: [...entries(1), {}] }, /^links\[1\]: target_url is requi/],
    [
      'an entry to a foreign domain',
      { links: [{ ...entries(1)[0], domain_id: 'd' }] },
      /^links\[0\]: domain_id/,
    ],
    [
      'one bad entry of 500',
      { links: [...entries(499), { target_url: 'ftp://x/' }] },
      /^links\[499\]: target_url/,
    ],
  ];

  test.each(cases)('%s', async (_name, body, message) => {
    const answer = await app.post(key, BATCH, body);
    expect(answer.status).toBe(400);
    expect(answer.json.error).toMatch(message);
    expect(answer.json.code).toBe('invalid_request');
    expect(await app.linksUsed(key)).toBe(0);
  });

  test('details list each bad entry by index, field and message, in order', async () => {
    const links = [
      ...entries(3),
      { target_url: 'x' },
      ...entries(3),
      { target_url: TARGET, tags: 1 },
    ];
    const { json } = await app.post(key, BATCH, { links });
    expect(json.details).toEqual([
      { index: 3, field: 'target_url', message: expect.stringContaining('absolute') },
      { index: 7, field: 'tags', message: 'tags must be an array of strings' },
    ]);
    expect(json.error).toBe(`links[3]: ${json.details[0].message}`);
  });

  test('details stop at 100', async () => {
    const { json } = await app.post(key, BATCH, { links: Array(5_000).fill({ title: 1 }) });
    expect(json.details).toHaveLength(100);
    expect(json.details[99].index).toBe(49);
  });
});

test.each([
  ['good', entries],
  ['bad', (count: number) => Array(count).fill({ target_url: 'x' })],
])('the time for %s entries grows with their number, not with its square', async (_, linksOf) => {
  // Time of the processor, since a busy machine keeps this process waiting.
  const shortestUs = async (count: number) => {
    let shortest = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 5; round += 1) {
      const before = process.cpuUsage();
      await app.post(key, BATCH, { links: linksOf(count) });
      const { user, system } = process.cpuUsage(before);
      shortest = Math.min(shortest, user + system);
    }
    return shortest;
  };
  // Twelve times as many take about twelve times as long; were it the square, 144 times.
  expect(await shortestUs(9_600)).toBeLessThan(50 * (await shortestUs(800)));
});
