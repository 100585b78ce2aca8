import type { CreateLinkBody, Job } from '@shortlink/sdk';
import { assert } from 'chai';
import type { Check } from '../check.ts';

export const batchChecks: readonly Check[] = [
  {
    name: 'creates 100 links at once',
    async run(stage) {
      const server = await stage.startServer();
      const links = targets(100);
      const batch = await server.client().links.createBatch({ links });
      if (batch.status !== 'completed') throw new Error(`status is ${batch.status}`);
      assert.deepEqual(urls(batch.results), urls(links));
      for (const item of batch.results) {
        assert.equal(item.short_url, `${server.baseUrl}/${item.code}`);
      }
    },
  },
  {
    name: 'creates 2,000 links in a job and follows its progress',
    async run(stage) {
      const server = await stage.startServer();
      const shortlink = server.client();
      const links = targets(2_000);
      const batch = await shortlink.links.createBatch({ links });
      if (batch.status !== 'processing') throw new Error(`status is ${batch.status}`);
      assert.equal(batch.total, 2_000);
      const polls: Job[] = [];
      const job = await shortlink.jobs.wait(batch.job_id, {
        onProgress: (poll) => polls.push(poll),
      });
      assert.deepEqual(urls(job.results), urls(links));
      assert.equal(new Set(job.results.map((item) => item.code)).size, 2_000);
      assert.containSubset(polls.at(-1), {
        id: batch.job_id,
        status: 'completed',
        processed: 2_000,
      });
      const processed = polls.map((poll) => poll.processed);
      assert.deepEqual(
        processed,
        processed.toSorted((a, b) => a - b),
      );
      assert.equal((await shortlink.jobs.retrieve(batch.job_id)).status, 'completed');
    },
  },
  {
    name: 'creates many links from an async generator, in order',
    async run(stage) {
      const server = await stage.startServer();
      const options = { batchSize: 200, concurrency: 2 };
      const seen: string[] = [];
      for await (const item of server.client().links.createMany(slowly(targets(500)), options)) {
        assert.equal(item.outcome, 'created');
        assert.equal(item.index, seen.length);
        seen.push(item.input.target_url);
      }
      assert.deepEqual(seen, urls(targets(500)));
      assert.equal((await server.client().usage.retrieve()).links.used, 500);
      const batches = (await server.requests()).filter((request) => request.method === 'POST');
      assert.lengthOf(batches, 3);
    },
  },
  {
    name: 'shrinks batches to the size that the plan takes',
    async run(stage) {
      const server = await stage.startServer({ plan: 'pro' });
      let created = 0;
      for await (const item of server.client().links.createMany(targets(150))) {
        if (item.outcome === 'created') created += 1;
      }
      assert.equal(created, 150);
    },
  },
];

function targets(count: number): CreateLinkBody[] {
  return Array.from({ length: count }, (_, i) => ({ target_url: `https://example.com/${i}` }));
}

function urls(items: readonly { target_url: string }[]): string[] {
  return items.map((item) => item.target_url);
}

/** Yields items in bursts with real waits between them, as a stream from a file or a database does. */
async function* slowly<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const [i, item] of items.entries()) {
    if (i % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    yield item;
  }
}
