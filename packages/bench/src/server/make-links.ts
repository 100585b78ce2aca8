import type { Target } from './targets.ts';

/** Time between two polls of a job, in milliseconds. The end of a job is noticed this late at most. */
const POLL_MS = 10;

export const CODE_ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
export const CODE_LENGTH = 7;

/** Target URL of every link of the benchmark. */
export function linkInput(number: number) {
  return { target_url: `https://example.com/catalogue/item/${number}?from=bench`, tags: ['bench'] };
}

/** A random code that looks like those of the service. `Math.random` is cheap, but it is no CSPRNG and slightly biased. */
export function newCode(): string {
  let code = '';
  for (let place = 0; place < CODE_LENGTH; place += 1) {
    code += CODE_ALPHABET[Math.floor(Math.random() * CODE_ALPHABET.length)];
  }
  return code;
}

/** The body of a batch. */
export function batchBody(count: number): string {
  return JSON.stringify({ links: Array.from({ length: count }, (_, number) => linkInput(number)) });
}

/** Makes links and resolves to their codes, when they all exist. */
export async function makeLinks(target: Target, count: number): Promise<string[]> {
  return createBatch(target, batchBody(count));
}

/** Sends a batch and waits for its job, if it becomes one. */
export async function createBatch(target: Target, body: string): Promise<string[]> {
  const answer = await call(target, '/api/v1/links/batch', body);
  if (answer.results !== undefined) return codesOf(answer);
  for (;;) {
    const job = await call(target, `/api/v1/jobs/${answer.job_id}`);
    if (job.status === 'completed') return codesOf(job);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

interface Answer {
  status: string;
  job_id?: string;
  results?: { code: string }[];
}

async function call({ url, apiKey }: Target, path: string, body?: string): Promise<Answer> {
  const response = await fetch(url + path, {
    headers: {
      'X-Api-Key': apiKey,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { method: 'POST', body }),
  });
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
  return response.json();
}

function codesOf({ results = [] }: Answer): string[] {
  return results.map(({ code }) => code);
}
