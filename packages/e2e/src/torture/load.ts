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
  /** True once every server has ended. */
  hasEnded: () => boolean;
}

/** A pause after a request that got no response, in milliseconds. */
const LOST_PAUSE_MS = 20;

/**
 * Creates, sends batches and jobs, and follows links until every server is gone. Only acknowledged work goes into
 * the ledger; a wrong response rejects.
 */
export async function putLoadOn({ url, key, ledger, hasEnded }: LoadOptions): Promise<void> {
  /** The response; `undefined` when the server has ended, or can't serve now. */
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
      // An incomplete response counts as none.
      const text = await response.text();
      return { status: response.status, json: text === '' ? {} : JSON.parse(text) };
    } catch {
      await new Promise((resolve) => setTimeout(resolve, LOST_PAUSE_MS));
      return undefined;
    }
  };
  const untilGone = async (step: () => Promise<void>) => {
    while (!hasEnded()) await step();
  };
  /** The response of a create; `undefined` when there was none, or nothing was created. */
  const send = async (path: string, body: unknown, targets: readonly string[], status: number) => {
    const answer = await ask(path, body);
    if (answer?.status === 503) {
      for (const target of targets) ledger.refused.add(target);
      return undefined;
    }
    if (answer !== undefined) expectStatus(answer, status);
    return answer;
  };

  const create = async () => {
    const target = nextTarget(ledger);
    const answer = await send('/api/v1/links', { target_url: target }, [target], 201);
    if (answer === undefined) return;
    ledger.acknowledge(answer.json.code, target);
  };
  const createBatch = async () => {
    const targets = Array.from({ length: BATCH_LINKS }, () => nextTarget(ledger));
    const answer = await send('/api/v1/links/batch', { links: targets.map(toInput) }, targets, 200);
    if (answer === undefined) return;
    for (const [n, target] of targets.entries()) {
      ledger.acknowledge(answer.json.results[n].code, target);
    }
  };
  const createJob = async () => {
    const targets = Array.from({ length: JOB_LINKS }, () => nextTarget(ledger));
    const answer = await send('/api/v1/links/batch', { links: targets.map(toInput) }, targets, 202);
    if (answer === undefined) return;
    ledger.jobs.set(answer.json.job_id, targets);
    await new Promise((resolve) => setTimeout(resolve, JOB_PAUSE_MS));
  };
  const visit = async () => {
    const code = ledger.anyCode();
    if (code === undefined) return new Promise<void>((resolve) => setTimeout(resolve, 5));
    ledger.sentClicks += 1;
    const answer = await ask(`/${code}`);
    if (answer === undefined || answer.status === 503) return;
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
