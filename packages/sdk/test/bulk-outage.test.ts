import { describe, expect, it } from 'vitest';
import type { BulkItem, CreateManyOptions } from '../src/bulk/create-many.ts';
import type { Fetch, ShortlinkOptions } from '../src/options.ts';
import { json } from './answers.ts';
import { makeClient } from './make-client.ts';

const LINKS = 30_000;

/** A service that creates the first `good` batches, and then fails. */
function failingAfter(good: number, fail: () => Response): { fetch: Fetch; posts: () => number } {
  let posts = 0;
  const fetch: Fetch = async (_, { body }) => {
    posts += 1;
    if (posts > good) return fail();
    const { links } = JSON.parse(String(body));
    const created = (link: object) => ({ ...link, code: 'c', short_url: 'https://s.example/c' });
    const results = links.map(created);
    return json({ status: 'completed', total: results.length, results });
  };
  return { fetch, posts: () => posts };
}

async function run(clientOptions: ShortlinkOptions, options: CreateManyOptions) {
  const { links } = makeClient(clientOptions);
  function* source() {
    for (let n = 0; n < LINKS; n += 1) yield { target_url: `https://example.com/${n}` };
  }
  const counts: Record<BulkItem['outcome'], number> = { created: 0, failed: 0, unknown: 0 };
  let error: unknown;
  try {
    for await (const { outcome } of links.createMany(source(), options)) counts[outcome] += 1;
  } catch (thrown) {
    error = thrown;
  }
  return { counts, error };
}

const reset = () => {
  throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } });
};
const html = () => new Response('<html>', { headers: { 'content-type': 'text/html' } });

describe('createMany in an outage', () => {
  it.each([
    ['502', () => json({ error: 'bad gateway' }, 502), 'ServerError'],
    ['a reset', reset, 'ConnectionError'],
    ['200 with HTML', html, 'ResponseShapeError'],
  ])(
    'after two batches leaves those in flight in doubt, and no others: %s',
    async (_, fail, name) => {
      const { fetch, posts } = failingAfter(2, fail);
      const { counts, error } = await run({ fetch }, { batchSize: 100 });
      expect(error).toMatchObject({ name });
      // Four batches are in flight at once.
      expect(posts()).toBeLessThanOrEqual(2 + 4);
      expect(counts).toEqual({ created: 200, failed: 0, unknown: (posts() - 2) * 100 });
    },
  );

  it('costs one request where the address answers with HTML', async () => {
    const { fetch, posts } = failingAfter(0, html);
    const { counts, error } = await run({ fetch }, { batchSize: 100 });
    expect(error).toMatchObject({ name: 'ResponseShapeError' });
    expect(posts()).toBe(1);
    expect(counts).toEqual({ created: 0, failed: 0, unknown: 100 });
  });

  it("ends with the client's idempotency too: nobody knows the keys to send a batch again", async () => {
    const { fetch, posts } = failingAfter(2, html);
    const { counts, error } = await run({ fetch, idempotency: true }, { batchSize: 100 });
    expect(error).toMatchObject({ name: 'ResponseShapeError' });
    expect(posts()).toBeLessThanOrEqual(2 + 4);
    expect(counts).toEqual({ created: 200, failed: 0, unknown: (posts() - 2) * 100 });
  });

  it('asks for every batch with idempotencyKey, because a later run can send it again', async () => {
    const { fetch, posts } = failingAfter(2, html);
    const idempotencyKey = ({ first }: { first: number }) => `k${first}`;
    const { counts, error } = await run({ fetch }, { batchSize: 100, idempotencyKey });
    expect(error).toBeUndefined();
    expect(posts()).toBe(300);
    expect(counts).toEqual({ created: 200, failed: 0, unknown: LINKS - 200 });
  });
});
