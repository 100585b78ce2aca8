import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ShortlinkOptions } from '../src/options.ts';
import { JOB, LINK } from './answers.ts';

/** What was loaded, in order, and what holds the loads up. */
const loads: string[] = [];
let held: Promise<void> | undefined;

/** A client that has loaded nothing yet, in a copy of the package of its own. */
async function freshClient(options: ShortlinkOptions = {}) {
  const { Shortlink } = await import('../src/index.ts');
  return new Shortlink({ apiKey: 'k', baseUrl: 'https://go.example.com', ...options });
}

beforeEach(() => {
  vi.resetModules();
  loads.length = 0;
  held = undefined;
  vi.doMock('../src/http/attempts.ts', async (original) => {
    loads.push('attempts');
    await held;
    return original();
  });
  vi.doMock('../src/resources/batch-work.ts', async (original) => {
    loads.push('batch work');
    await held;
    return original();
  });
});

describe('what is loaded late', () => {
  it('is nothing for a client that sends nothing', async () => {
    const shortlink = await freshClient();
    shortlink.links.createMany([]);
    expect(loads).toEqual([]);
  });

  it('is what sends, once, for the first request', async () => {
    const fetch = vi.fn(async () => Response.json(LINK, { status: 201 }));
    const { links } = await freshClient({ fetch });
    const body = { target_url: 'https://example.com' };
    await Promise.all([links.create(body), links.create(body)]);
    await links.create(body);
    expect(loads).toEqual(['attempts']);
    expect(fetch).toHaveBeenCalledTimes(3);
  });

  it('is what sends and what runs batches, side by side, for the first batches or wait', async () => {
    let release: () => void = () => undefined;
    held = new Promise((resolve) => {
      release = resolve;
    });
    const fetch = async () => Response.json({ ...JOB, status: 'completed' });
    const { jobs } = await freshClient({ fetch });
    const waiting = jobs.wait(JOB.id);
    await vi.waitFor(() => expect(loads).toHaveLength(2));
    expect(loads.toSorted()).toEqual(['attempts', 'batch work']);
    release();
    expect(await waiting).toMatchObject({ id: JOB.id });
  });

  it('keeps one pace for all requests that wait for it', async () => {
    const sentAt: number[] = [];
    const fetch = async () => {
      sentAt.push(performance.now());
      return Response.json(LINK, { status: 201 });
    };
    const { links } = await freshClient({ fetch, requestsPerMinute: 300 });
    const body = { target_url: 'https://example.com' };
    await Promise.all([links.create(body), links.create(body)]);
    const [first = 0, second = 0] = sentAt;
    // One every 200 ms, of which 50 may be made up for.
    expect(second - first).toBeGreaterThan(100);
  });

  it('takes the body as it was when the request was made', async () => {
    const sent: unknown[] = [];
    const fetch: typeof globalThis.fetch = async (input) => {
      sent.push(await new Request(input).json());
      return Response.json(LINK, { status: 201 });
    };
    const { links } = await freshClient({ fetch });
    const body = { target_url: 'https://example.com/first' };
    const created = links.create(body);
    body.target_url = 'https://example.com/second';
    await created;
    expect(sent).toEqual([{ target_url: 'https://example.com/first' }]);
  });

  it.each([
    ['signal', () => ({ signal: AbortSignal.timeout(20) }), { name: 'TimeoutError', code: 23 }],
    ['totalTimeoutMs', () => ({ totalTimeoutMs: 20 }), { outcome: 'not-sent', timeoutMs: 20 }],
    ['timeoutMs', () => ({ timeoutMs: 20, maxRetries: 0 }), { outcome: 'not-sent', timeoutMs: 20 }],
  ])('is not waited for longer than %s says', async (_, makeOptions, expected) => {
    held = new Promise(() => undefined);
    const fetch = vi.fn();
    const { links } = await freshClient({ fetch });
    const created = links.create({ target_url: 'https://example.com' }, makeOptions());
    await expect(created).rejects.toMatchObject(expected);
    expect(loads).toEqual(['attempts']);
    expect(fetch).not.toHaveBeenCalled();
  });

  it('is not waited for by createMany after its signal is aborted', async () => {
    held = new Promise(() => undefined);
    const { links } = await freshClient();
    const controller = new AbortController();
    const next = links
      .createMany([{ target_url: 'https://example.com' }], { signal: controller.signal })
      .next();
    controller.abort('enough');
    await expect(next).rejects.toBe('enough');
  });
});
