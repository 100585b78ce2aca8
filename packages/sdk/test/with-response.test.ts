import process from 'node:process';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import type { BatchResponse, Job, Link, Usage } from '../src/index.ts';
import { JOB, json, LINK } from './answers.ts';
import { settle } from './fake-clock.ts';
import { API_KEY, makeClient } from './make-client.ts';

const HEADERS = { 'X-Request-Id': 'r7', 'X-Echo': API_KEY };
const BATCH = { status: 'completed', total: 1, results: JOB.results } as const;

describe('withResponse', () => {
  it('gives the data with status, headers and request id, of every call that is one request', async () => {
    const bodies: [RegExp, object, number][] = [
      [/links$/, LINK, 201],
      [/batch$/, BATCH, 200],
      [/jobs/, JOB, 200],
      [/usage$/, { plan: 'pro' }, 200],
    ];
    const fetch = async (url: string) => {
      const [, body, status] = bodies.find(([pattern]) => pattern.test(url)) ?? [
        undefined,
        {},
        500,
      ];
      return json(body, status, HEADERS);
    };
    const { links, jobs, usage } = makeClient({ fetch });
    const link = await links.create({ target_url: LINK.target_url }).withResponse();
    expect(link).toEqual({ data: LINK, status: 201, headers: link.headers, requestId: 'r7' });
    expect(link.headers.get('x-echo')).toBe('[API key]');
    const batch = await links.createBatch({ links: [] }).withResponse();
    expect(batch).toMatchObject({ data: BATCH, status: 200, requestId: 'r7' });
    const job = await jobs.retrieve('j').withResponse();
    expect(job).toMatchObject({ data: JOB, status: 200, requestId: 'r7' });
    const used = await usage.retrieve().withResponse();
    expect(used).toMatchObject({ data: { plan: 'pro' }, status: 200 });
    expectTypeOf(link.data).toEqualTypeOf<Link>();
    expectTypeOf(batch.data).toEqualTypeOf<BatchResponse>();
    expectTypeOf(job.data).toEqualTypeOf<Job>();
    expectTypeOf(used.data).toEqualTypeOf<Usage>();
  });

  it('keeps each of several headers with one name, and takes an empty request id for none', async () => {
    const headers = new Headers([
      ['Set-Cookie', 'one=1'],
      ['Set-Cookie', 'two=2'],
      ['X-Request-Id', ''],
    ]);
    const { links } = makeClient({ fetch: async () => Response.json(LINK, { headers }) });
    const response = await links.create({ target_url: 'x' }).withResponse();
    expect(response.headers.getSetCookie()).toEqual(['one=1', 'two=2']);
    expect(response.requestId).toBeUndefined();
  });

  it('sends one request, however it is asked for', async () => {
    const fetch = vi.fn(async () => json(LINK, 201));
    const creating = makeClient({ fetch }).links.create({ target_url: 'x' });
    const [data, first, second] = await Promise.all([
      creating,
      creating.withResponse(),
      creating.withResponse(),
    ]);
    expect([first.data, second.data]).toEqual([data, data]);
    expect(fetch).toHaveBeenCalledOnce();
  });

  it('rejects with the error of the call, and leaves no rejection unhandled', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const { links, jobs } = makeClient({ fetch: async () => json({ error: 'no' }, 400) });
    const error = { name: 'BadRequestError' };
    await expect(links.create({ target_url: 'x' }).withResponse()).rejects.toMatchObject(error);
    await expect(links.create({ target_url: 'x' })).rejects.toMatchObject(error);
    // What is wrong before anything is sent rejects too, and is not thrown.
    await expect(jobs.retrieve('..').withResponse()).rejects.toHaveProperty('option', 'jobId');
    await settle();
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('leaves a rejection that nobody handles to the runtime', async () => {
    const unhandled = vi.fn();
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', unhandled);
    const { links } = makeClient({ fetch: async () => json({ error: 'no' }, 400) });
    void links.create({ target_url: 'x' });
    await settle();
    await settle();
    process.off('unhandledRejection', unhandled);
    for (const listener of others) process.on('unhandledRejection', listener);
    expect(unhandled).toHaveBeenCalledOnce();
  });
});
