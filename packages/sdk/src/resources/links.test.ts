import { describe, expect, it, vi } from 'vitest';
import { JOB, json, LINK } from '../../test/answers.ts';
import { InstantClock } from '../../test/fake-clock.ts';
import { makeClient } from '../../test/make-client.ts';
import { InvalidOptionError, isOutcomeUnknown } from '../errors/call-errors.ts';
import type { ShortlinkOptions } from '../options.ts';
import type { BatchInput } from '../wire/batch.ts';
import type { LinkInput } from '../wire/link.ts';

/** A client of a service that answers by path, and the bodies that were sent. */
function clientOf(answers: Record<string, () => Response>, options: ShortlinkOptions = {}) {
  const bodies: unknown[] = [];
  const { links } = makeClient({
    fetch: async (url, { body }) => {
      if (body !== undefined) bodies.push(JSON.parse(body));
      const answer = answers[new URL(url).pathname];
      if (answer === undefined) throw new Error(`${url} was not expected`);
      return answer();
    },
    ...options,
  });
  return { links, bodies };
}
const created = () => json(LINK, 201);
const RESULT = { target_url: LINK.target_url, code: LINK.code, short_url: LINK.short_url };
const done = () => json({ status: 'completed', total: 1, results: [RESULT] });

const TARGET = 'https://example.com/docs';
const INPUTS: [string, LinkInput, object][] = [
  ['a URL', { target_url: new URL(TARGET) }, { target_url: TARGET }],
  [
    'nulls, as databases have them',
    { target_url: TARGET, title: null, tags: null, domain_id: null, redirect_type: null },
    { target_url: TARGET },
  ],
  ['a link', LINK, { target_url: TARGET, title: '', redirect_type: 302, tags: [] }],
];

describe.each(INPUTS)('a link with %s', (_, input, sent) => {
  it('is taken by create', async () => {
    const { links, bodies } = clientOf({ '/api/v1/links': created });
    await links.create(input);
    expect(bodies).toEqual([sent]);
  });

  it('is taken by createBatch, createBatchAndWait and createMany', async () => {
    const { links, bodies } = clientOf({ '/api/v1/links/batch': done });
    await links.createBatch({ links: [input], domain_id: null });
    await links.createBatchAndWait({ links: [input] });
    for await (const item of links.createMany([input])) {
      expect(item).toMatchObject({ outcome: 'created', code: LINK.code, input });
      expect(item.input).toBe(input);
    }
    expect(bodies).toEqual([{ links: [sent] }, { links: [sent] }, { links: [sent] }]);
  });
});

it('create returns the target that was sent, as a string, where the service does not repeat it', async () => {
  const bare = { code: 'c', short_url: 'https://s.example/c' };
  const { links } = clientOf({ '/api/v1/links': () => json(bare, 201) });
  const link = await links.create({ target_url: new URL(TARGET) });
  expect(link.target_url).toBe(TARGET);
});

it('createMany gives links of URL objects their own codes, whatever the order of the results', async () => {
  const results = ['b', 'a'].map((code) => ({
    target_url: `https://example.com/${code}`,
    code,
    short_url: `https://s.example/${code}`,
  }));
  const { links } = clientOf({
    '/api/v1/links/batch': () => json({ status: 'completed', total: 2, results }),
  });
  const source = ['a', 'b'].map((code) => ({ target_url: new URL(`https://example.com/${code}`) }));
  const codes: string[] = [];
  for await (const item of links.createMany(source)) {
    if (item.outcome === 'created') codes.push(item.code);
  }
  expect(codes).toEqual(['a', 'b']);
});

describe('wrong use is said before anything is sent', () => {
  it.each([
    ['a string', TARGET, `link must be a link, such as { target_url }, not "${TARGET}"`],
    ['a URL', new URL(TARGET), `link must be a link, such as { target_url }, not ${TARGET}`],
    ['nothing', undefined, 'link must be a link, such as { target_url }, not undefined'],
    ['null', null, 'link must be a link, such as { target_url }, not null'],
    ['a list', [LINK], 'link must be a link, such as { target_url }, not a list'],
    [
      'a promise',
      Promise.resolve(LINK),
      'link must be a link, such as { target_url }, not [object',
    ],
  ])('create of %s', async (_, link, message) => {
    const { links, bodies } = clientOf({});
    const call = links.create(link as never);
    await expect(call).rejects.toThrow(InvalidOptionError);
    await expect(call).rejects.toThrow(message);
    expect(bodies).toEqual([]);
  });

  it.each([
    ['a list', [LINK], 'batch must be { links: [...] }, not the list of links itself'],
    ['nothing', undefined, 'batch must be { links: [...] }, not undefined'],
    ['a string', TARGET, `batch must be { links: [...] }, not "${TARGET}"`],
    ['no links', { domain_id: 'd' }, 'links must be a list of links, not undefined'],
    ['links that are no list', { links: LINK }, 'links must be a list of links, not '],
    ['a target', { links: [LINK, TARGET] }, `links[1] must be a link, such as { target_url }, not`],
    [
      'a tag',
      { links: [LINK, { ...LINK, tags: 'a' }] },
      'links[1] must be data that can be written',
    ],
    ['a BigInt', { links: [LINK, { ...LINK, title: 1n }] }, 'links[1] must be data that can be'],
    [
      'a domain',
      { domain_id: 1n, links: [LINK] },
      'batch must be data that can be written as JSON',
    ],
  ])('createBatch of %s', async (_, batch, message) => {
    const { links, bodies } = clientOf({});
    for (const call of [
      links.createBatch(batch as never),
      links.createBatchAndWait(batch as never),
    ]) {
      await expect(call).rejects.toThrow(InvalidOptionError);
      await expect(call).rejects.toThrow(message);
    }
    expect(bodies).toEqual([]);
  });
});

it('a job that the client accepted is polled as long after that as the service asked for', async () => {
  const clock = new InstantClock();
  let polledAt = 0;
  const fetch = async (url: string) => {
    if (url.endsWith('/batch')) {
      return json({ status: 'processing', job_id: 'job-a', total: 1 }, 202, { 'Retry-After': '7' });
    }
    polledAt = clock.now();
    return json(JOB);
  };
  const { links, jobs } = makeClient({ fetch }, { clock });
  await clock.delay(10_000);
  await links.createBatch({ links: [{ target_url: TARGET }] });
  await clock.delay(2_000);
  await jobs.wait('job-a');
  expect(polledAt).toBe(17_000);
});

describe('createBatchAndWait', () => {
  const batch: BatchInput = { links: [LINK], domain_id: 'd1' };
  const accepted = () => json({ status: 'processing', job_id: JOB.id, total: 1 }, 202);

  it('returns the results of a batch that is carried out at once', async () => {
    const { links, bodies } = clientOf({ '/api/v1/links/batch': done });
    const onProgress = vi.fn();
    const { status, total, results } = await links.createBatchAndWait(batch, { onProgress });
    expect({ status, total, results }).toEqual({
      status: 'completed',
      total: 1,
      results: [RESULT],
    });
    expect(bodies).toMatchObject([{ domain_id: 'd1' }]);
    expect(onProgress).not.toHaveBeenCalled();
  });

  it('waits for the job of a larger one, and says how far it is', async () => {
    const polls = [
      { ...JOB, status: 'processing', processed: 0, results: [] },
      { ...JOB, total: null },
    ];
    const { links } = clientOf({
      '/api/v1/links/batch': accepted,
      [`/api/v1/jobs/${JOB.id}`]: () => json(polls.shift()),
    });
    const seen: number[] = [];
    const onProgress = ({ processed }: { processed: number }) => void seen.push(processed);
    const done = await links.createBatchAndWait(batch, { onProgress });
    expect(done).toEqual({ status: 'completed', job_id: JOB.id, total: 1, results: JOB.results });
    expect(seen).toEqual([0, 1]);
  });

  it('sends the headers of the call with the batch and with each poll', async () => {
    const traces: unknown[] = [];
    const fetch = async (url: string, { headers }: { headers: Record<string, string> }) => {
      traces.push(headers['x-trace']);
      return url.endsWith('/batch') ? accepted() : json(JOB);
    };
    await makeClient({ fetch }).links.createBatchAndWait(batch, { headers: { 'x-trace': 't1' } });
    expect(traces).toEqual(['t1', 't1']);
  });

  it('names the job where the wait fails', async () => {
    const { links } = clientOf({
      '/api/v1/links/batch': accepted,
      [`/api/v1/jobs/${JOB.id}`]: () => json({ ...JOB, status: 'failed', results: [] }),
    });
    const call = links.createBatchAndWait(batch, { jobTimeoutMs: 1_000 });
    await expect(call).rejects.toMatchObject({ name: 'JobFailedError', jobId: JOB.id });
  });

  it('waits no longer than jobTimeoutMs, and ends with its signal', async () => {
    const { links } = clientOf({
      '/api/v1/links/batch': accepted,
      [`/api/v1/jobs/${JOB.id}`]: () => json({ ...JOB, status: 'processing', results: [] }),
    });
    const late = links.createBatchAndWait(batch, { jobTimeoutMs: 5_000 });
    await expect(late).rejects.toMatchObject({ name: 'JobTimeoutError', timeoutMs: 5_000 });
    const controller = new AbortController();
    const onProgress = () => controller.abort(new Error('enough'));
    const ended = links.createBatchAndWait(batch, { onProgress, signal: controller.signal });
    await expect(ended).rejects.toThrow('enough');
  });

  /** Results of `a` and `b` in another order, then of `b` alone, as services send them at once or in a job. */
  const INPUTS = ['a', 'b'].map((code) => ({ target_url: `https://example.com/${code}` }));
  const [a, b] = ['a', 'b'].map((code) => ({
    target_url: `https://example.com/${code}`,
    code,
    short_url: `https://s.example/${code}`,
  }));
  const ALIGNED: [string, unknown[], unknown[]][] = [
    ['in another order', [b, a], [a, b]],
    ['without the first one', [b], [INPUTS[0], b]],
    ['with one of another link', [b, a, { ...a, target_url: 'https://c.example' }], [a, b]],
  ];

  it.each(ALIGNED)('gives each link its own result, sent %s', async (_, results, expected) => {
    const total = results.length;
    const { links: atOnce } = clientOf({
      '/api/v1/links/batch': () => json({ status: 'completed', total, results }),
    });
    expect(await atOnce.createBatchAndWait({ links: INPUTS })).toMatchObject({ results: expected });
    const { links: asJob } = clientOf({
      '/api/v1/links/batch': accepted,
      [`/api/v1/jobs/${JOB.id}`]: () => json({ ...JOB, total, results }),
    });
    const done = await asJob.createBatchAndWait({ links: INPUTS });
    expect(done.results).toEqual(expected);
  });

  it.each([new Error('the screen is gone'), 'gone', undefined])(
    'names the job where onProgress throws %s',
    async (thrown) => {
      const { links } = clientOf({
        '/api/v1/links/batch': accepted,
        [`/api/v1/jobs/${JOB.id}`]: () => json(JOB),
      });
      const onProgress = () => {
        throw thrown;
      };
      const error = await links.createBatchAndWait(batch, { onProgress }).catch((e: unknown) => e);
      expect(error).toMatchObject({ name: 'ShortlinkError', jobId: JOB.id });
      expect(error).toHaveProperty('message', expect.stringContaining('onProgress'));
      expect(Reflect.get(Object(error), 'cause')).toBe(thrown);
      expect(isOutcomeUnknown(error)).toBe(true);
    },
  );
});
