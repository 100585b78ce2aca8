import type { Inspection } from './inspect.ts';
import type { Ledger } from './ledger.ts';

/** How long the jobs of all rounds may take to end, in milliseconds. */
const JOBS_TIMEOUT_MS = 300_000;

/** Checks that every acknowledged link redirects to its target URL. */
export async function checkLinks(
  links: Iterable<readonly [code: string, target: string]>,
  found: Inspection,
): Promise<void> {
  const expected = [...links];
  const targets = await found.targetsOf(expected.map(([code]) => code));
  for (const [code, target] of expected) {
    const stored = targets.get(code);
    if (stored !== target)
      throw new Error(`${code} leads to ${stored}, acknowledged was ${target}`);
  }
}

/** Checks that no link exists for a create whose response was 503. */
export async function checkRefused(ledger: Ledger, found: Inspection): Promise<void> {
  const stored = await found.storedOf([...ledger.refused]);
  if (stored.length > 0)
    throw new Error(`answered 503, but stored: ${stored.slice(0, 5).join(' ')}`);
}

/** Checks that the database is consistent, that no link exists twice, and that no create or chunk of a job is half done. */
export function checkTotals(found: Inspection): void {
  if (found.integrity !== 'ok') throw new Error(`integrity check: ${found.integrity}`);
  if (found.doubled > 0) throw new Error(`${found.doubled} links were created twice`);
  if (found.links + found.outstanding !== found.places) {
    throw new Error(
      `${found.links} links and ${found.outstanding} outstanding, but ${found.places} places`,
    );
  }
}

/** Checks that every accepted job completes with exactly its links, in order, and adds them to the ledger. */
export async function checkJobs(url: string, key: string, ledger: Ledger): Promise<void> {
  const deadline = performance.now() + JOBS_TIMEOUT_MS;
  for (const [jobId, targets] of ledger.jobs) {
    let job = await poll(url, key, jobId);
    while (job.status !== 'completed') {
      if (performance.now() > deadline) throw new Error(`job ${jobId} does not end`);
      await new Promise((resolve) => setTimeout(resolve, 200));
      job = await poll(url, key, jobId);
    }
    if (job.processed !== targets.length || job.results.length !== targets.length) {
      throw new Error(`job ${jobId} has ${job.results.length} links of ${targets.length}`);
    }
    job.results.forEach((item, n) => {
      if (item.target_url !== targets[n]) throw new Error(`job ${jobId} is out of order at ${n}`);
      if (ledger.links.has(item.code)) throw new Error(`code ${item.code} was given out twice`);
      ledger.acknowledge(item.code, item.target_url);
    });
  }
}

interface PolledJob {
  status: string;
  processed: number;
  results: { code: string; target_url: string }[];
}

async function poll(url: string, key: string, jobId: string): Promise<PolledJob> {
  const response = await fetch(`${url}/api/v1/jobs/${jobId}`, { headers: { 'X-Api-Key': key } });
  if (response.status !== 200) throw new Error(`polling ${jobId}: ${response.status}`);
  return JSON.parse(await response.text());
}
