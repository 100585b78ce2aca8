/** Creates many links with `createMany` or with `fetch`, in a process of its own, whose peak memory is measured. Started by `sdk/bulk.ts`. */
import { Shortlink } from '@shortlink/sdk';
import { answerParent } from '../frame/processes.ts';
import { targetUrl } from './stub.ts';

/** What to create. */
export interface BulkRun {
  url: string;
  links: number;
  batchSize: number;
  concurrency: number;
}

/** Elapsed time, and processor time of this process. */
export interface BulkTimes {
  ms: number;
  cpuMs: number;
}

const API_KEY = 'bench-key-0123456789';

const [program] = process.argv.slice(2);

function linkAt(index: number, batchSize: number) {
  return { target_url: targetUrl(index % batchSize), tags: ['bench'] };
}

async function withCreateMany({ url, links, batchSize, concurrency }: BulkRun): Promise<number> {
  const shortlink = new Shortlink({ apiKey: API_KEY, baseUrl: url });
  function* source() {
    for (let index = 0; index < links; index += 1) yield linkAt(index, batchSize);
  }
  let created = 0;
  for await (const item of shortlink.links.createMany(source(), { batchSize, concurrency })) {
    if (item.outcome === 'created') created += 1;
  }
  return created;
}

/** The simplest program that sends the same bodies and reads every response: no order, no checks, no retries. */
async function withFetch({ url, links, batchSize, concurrency }: BulkRun): Promise<number> {
  const headers = { 'X-Api-Key': API_KEY, 'Content-Type': 'application/json' };
  let next = 0;
  let created = 0;
  const sendSome = async () => {
    while (next < links) {
      const first = next;
      next += batchSize;
      const batch = Array.from({ length: batchSize }, (_, place) =>
        linkAt(first + place, batchSize),
      );
      const body = JSON.stringify({ links: batch });
      const response = await fetch(`${url}/api/v1/links/batch`, { method: 'POST', headers, body });
      const answer = await response.json();
      const done =
        answer.status === 'completed'
          ? answer
          : await (await fetch(`${url}/api/v1/jobs/${answer.job_id}`, { headers })).json();
      created += done.results.length;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sendSome));
  return created;
}

answerParent(async (run: BulkRun): Promise<BulkTimes> => {
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  const created = await (program === 'createMany' ? withCreateMany(run) : withFetch(run));
  const ms = performance.now() - startedAt;
  if (created !== run.links) throw new Error(`${created} of ${run.links} links were created`);
  const { user, system } = process.cpuUsage(cpuBefore);
  return { ms, cpuMs: (user + system) / 1000 };
});
