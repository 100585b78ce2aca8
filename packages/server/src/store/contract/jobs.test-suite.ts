import { expect, test } from 'vitest';
import { toJobInput } from '../links.ts';
import {
  finishJob,
  linksUsed,
  NOW,
  newCaller,
  newJob,
  newLink,
  newLinks,
  resultsOf,
} from './fixtures.test-suite.ts';
import type { UseStore } from './use-store.test-suite.ts';

export function testJobs(useStore: UseStore): void {
  const store = useStore();

  test('the links of a job are created in order, each once', async () => {
    const caller = await newCaller(store());
    const jobId = await newJob(store(), caller, 5_234);
    const chunks = await finishJob(store(), jobId);
    expect(chunks.at(-1)).toBe(5_234);
    const job = await store().findJob(caller.accountId, jobId);
    expect(job).toMatchObject({ id: jobId, status: 'completed', total: 5_234, processed: 5_234 });
    const results = await resultsOf(store(), job);
    expect(results.map((item) => item.target_url)).toEqual(
      newLinks(5_234).map((link) => link.target_url),
    );
    expect(new Set(results.map((item) => item.code)).size).toBe(5_234);
    expect(Object.keys(results[0] ?? {})).toEqual(['target_url', 'code', 'short_url']);
    const last = await store().findRedirect(results.at(-1)?.code ?? '');
    expect(last).toMatchObject({ target_url: 'https://example.com/5233' });
    expect(await linksUsed(store(), caller)).toBe(5_234);
  });

  test('a job that may run now says how many of its links exist, and gets the others later', async () => {
    const caller = await newCaller(store());
    const idempotency = { key: 'k', fingerprint: 'f' };
    const request = () => {
      const input = toJobInput(newLinks(1_300));
      return { caller, input, now: NOW, runNow: true, idempotency };
    };
    const outcome = await store().createJob(request());
    if (!outcome.ok) throw new Error(outcome.reason);
    const { job_id, processed = 0 } = outcome.value;
    expect(await store().findJob(caller.accountId, job_id)).toMatchObject({ processed });
    expect(await store().createJob(request())).toMatchObject({ replayed: true });
    await finishJob(store(), job_id);
    const job = await store().findJob(caller.accountId, job_id);
    expect(new Set((await resultsOf(store(), job)).map((item) => item.code)).size).toBe(1_300);
    expect(await linksUsed(store(), caller)).toBe(1_300);
    expect(await store().pendingJobs()).toEqual([]);
  });

  test('a running job has the results of its first links, as many as it has processed', async () => {
    const caller = await newCaller(store());
    const jobId = await newJob(store(), caller, 1_100);
    const fresh = { id: jobId, status: 'processing', total: 1_100, processed: 0 };
    const untouched = await store().findJob(caller.accountId, jobId);
    expect(untouched).toMatchObject(fresh);
    expect(await resultsOf(store(), untouched)).toEqual([]);
    const targets = newLinks(1_100).map((link) => link.target_url);
    for (;;) {
      const { processed, done } = await store().runJobChunk(jobId, NOW);
      const job = await store().findJob(caller.accountId, jobId);
      expect(job?.processed).toBe(processed);
      const results = await resultsOf(store(), job);
      expect(results.map((item) => item.target_url)).toEqual(targets.slice(0, processed));
      if (done) break;
    }
  });

  test('simultaneous runs of one job do every chunk once', async () => {
    const caller = await newCaller(store());
    const jobId = await newJob(store(), caller, 3_000);
    await Promise.all(Array.from({ length: 10 }, () => finishJob(store(), jobId)));
    const job = await store().findJob(caller.accountId, jobId);
    const results = await resultsOf(store(), job);
    expect(results.map((item) => item.target_url)).toEqual(
      newLinks(3_000).map((link) => link.target_url),
    );
    expect(new Set(results.map((item) => item.code)).size).toBe(3_000);
    const { keys } = await store().usage(caller.accountId, NOW);
    expect(keys[0]?.history[0]?.links).toBe(3_000);
  });

  test('links of a job have their own titles, tags, redirect types and domains', async () => {
    const caller = await newCaller(store());
    const { accountId } = caller;
    const domain = await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
    const special = { title: 'T', tags: ['x'], redirect_type: 301 } as const;
    const input = [newLink(0), newLink(1, { ...special, domain_id: domain?.id ?? '' })];
    const outcome = await store().createJob({ caller, input: toJobInput(input), now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    await finishJob(store(), outcome.value.job_id);
    const job = await store().findJob(accountId, outcome.value.job_id);
    const results = await resultsOf(store(), job);
    const code = results[1]?.code ?? '';
    expect(results[1]?.short_url).toBe(`https://go.example/${code}`);
    expect(await store().findLink(code)).toMatchObject(special);
  });

  test('a complete job stays as it is when it is run again', async () => {
    const caller = await newCaller(store());
    const jobId = await newJob(store(), caller, 101);
    await finishJob(store(), jobId);
    const before = await store().findJob(caller.accountId, jobId);
    expect(await store().runJobChunk(jobId, NOW)).toEqual({
      created: 0,
      processed: 101,
      done: true,
    });
    expect(await store().findJob(caller.accountId, jobId)).toEqual(before);
  });

  test('an unknown job is done', async () => {
    expect(await store().runJobChunk('nobody', NOW)).toEqual({
      created: 0,
      processed: 0,
      done: true,
    });
  });

  test("an unknown job and another account's job are not found", async () => {
    const caller = await newCaller(store());
    const other = await newCaller(store());
    const jobId = await newJob(store(), caller, 101);
    expect(await store().findJob(other.accountId, jobId)).toBeUndefined();
    expect(await store().findJob(caller.accountId, 'nobody')).toBeUndefined();
    await finishJob(store(), await newJob(store(), caller, 101));
    expect(await store().readJobResults(jobId, 0)).toBeUndefined();
    expect(await store().readJobResults('nobody', 0)).toBeUndefined();
  });

  test('pending jobs are listed oldest first, until they are complete', async () => {
    const caller = await newCaller(store());
    const jobs: string[] = [];
    for (const ms of [1, 2, 2, 3]) jobs.push(await newJob(store(), caller, 101, NOW + ms));
    // Accepted by an instance whose clock is behind.
    jobs.unshift(await newJob(store(), caller, 101, NOW));
    expect(await store().pendingJobs()).toEqual(jobs);
    await finishJob(store(), jobs[2] ?? '');
    expect(await store().pendingJobs()).toEqual(jobs.toSpliced(2, 1));
    const long = await newJob(store(), caller, 1_001, NOW + 4);
    const { done } = await store().runJobChunk(long, NOW + 4);
    expect((await store().pendingJobs()).includes(long)).toBe(!done);
  });
}
