import type { Ledger } from './ledger.ts';

/** Clients that work at the same time. */
const CREATORS = 8;
const BATCHERS = 2;
const VISITORS = 6;

const BATCH_LINKS = 100;
const JOB_LINKS = 1_500;

/** A pause between the jobs of a round, so that the backlog stays small, in milliseconds. */
const JOB_PAUSE_MS = 400;

export interface LoadOptions {
  url: string;
  key: string;
  ledger: Ledger;
}

/**
 * Creates, sends batches and jobs, and follows links until the server is gone. Only what was answered goes into the
 * ledger; a wrong answer rejects.
 */
export async function putLoadOn({ url, key, ledger }: LoadOptions): Promise<void> {
  let gone = false;
  /** The answer, or `undefined` once the server is gone. */
  const ask = async (path: string, body?: unknown) => {
    try {
      const response = await fetch(url + path, {
        redirect: 'manual',
        ...(body !== undefined && {
          method: 'POST',
          headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
          body: JSON.stringify(body),
        }),
      });
      // Half an answer is none.
      const text = await response.text();
      return { status: response.status, json: text === '' ? {} : JSON.parse(text) };
    } catch {
      gone = true;
      return undefined;
    }
  };
  const untilGone = async (step: () => Promise<void>) => {
    while (!gone) await step();
  };

  const create = async () => {
    const target = nextTarget(ledger);
    const answer = await ask('/api/v1/links', { target_url: target });
    if (answer === undefined) return;
    expectStatus(answer, 201);
    ledger.acknowledge(answer.json.code, target);
  };
  const createBatch = async () => {
    const targets = Array.from({ length: BATCH_LINKS }, () => nextTarget(ledger));
    const answer = await ask('/api/v1/links/batch', { links: targets.map(toInput) });
    if (answer === undefined) return;
    expectStatus(answer, 200);
    for (const [n, target] of targets.entries()) {
      ledger.acknowledge(answer.json.results[n].code, target);
    }
  };
  const createJob = async () => {
    const targets = Array.from({ length: JOB_LINKS }, () => nextTarget(ledger));
    const answer = await ask('/api/v1/links/batch', { links: targets.map(toInput) });
    if (answer === undefined) return;
    expectStatus(answer, 202);
    ledger.jobs.set(answer.json.job_id, targets);
    await new Promise((resolve) => setTimeout(resolve, JOB_PAUSE_MS));
  };
  const visit = async () => {
    const code = ledger.anyCode();
    if (code === undefined) return new Promise<void>((resolve) => setTimeout(resolve, 5));
    ledger.sentClicks += 1;
    const answer = await ask(`/${code}`);
    if (answer === undefined) return;
    expectStatus(answer, 302);
    ledger.clickTimes.push(performance.now());
  };

  const several = (count: number, step: () => Promise<void>) =>
    Array.from({ length: count }, () => untilGone(step));
  await Promise.all([
    ...several(CREATORS, create),
    ...several(BATCHERS, createBatch),
    ...several(VISITORS, visit),
    untilGone(createJob),
  ]);
}

function nextTarget(ledger: Ledger): string {
  ledger.sentLinks += 1;
  return `https://example.com/${ledger.sentLinks}`;
}

function toInput(target_url: string) {
  return { target_url };
}

function expectStatus(answer: { status: number; json: unknown }, status: number): void {
  if (answer.status !== status) {
    throw new Error(`answered ${answer.status}, not ${status}: ${JSON.stringify(answer.json)}`);
  }
}
