/**
 * The least that does what an import does: streams the same file into the same POSTs and writes the same results in the same
 * order. It has no checks, no journal and no retries. Started by `cli/import.ts`.
 */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { LARGE_BATCH } from '../sdk/stub.ts';

const [, , url = '', file = '', output = '', key = ''] = process.argv;
const CONCURRENCY = 4;
const POLL_MS = 100;
const headers = { 'X-Api-Key': key, 'Content-Type': 'application/json' };

async function* lines(): AsyncGenerator<string[]> {
  let rest = '';
  for await (const text of createReadStream(file, 'utf8')) {
    const whole = (rest + text).split('\n');
    rest = whole.pop() ?? '';
    yield whole;
  }
}

async function* batches(): AsyncGenerator<string[]> {
  let batch: string[] = [];
  let isHeader = true;
  for await (const some of lines()) {
    for (const line of some) {
      if (isHeader) isHeader = false;
      else batch.push(line);
      if (batch.length === LARGE_BATCH) {
        yield batch;
        batch = [];
      }
    }
  }
  if (batch.length > 0) yield batch;
}

/** The stub's jobs are done at the first poll; those of a real server are asked for every {@link POLL_MS}. */
async function completed(url: string) {
  for (;;) {
    const job = await (await fetch(url, { headers })).json();
    if (job.status === 'completed') return job;
    await setTimeout(POLL_MS);
  }
}

async function resultsOf(batch: readonly string[]): Promise<string> {
  const links = batch.map((line) => {
    const [target_url, title, tags] = line.split(',');
    return { target_url, title, tags: tags?.split('|') };
  });
  const body = JSON.stringify({ links });
  const posted = await fetch(`${url}/api/v1/links/batch`, { method: 'POST', headers, body });
  const { job_id } = await posted.json();
  const job = await completed(`${url}/api/v1/jobs/${job_id}`);
  let text = '';
  batch.forEach((line, index) => {
    const { code, short_url } = job.results[index];
    text += `${line},${code},${short_url},created,\n`;
  });
  return text;
}

const target = await open(output, 'w');
await target.write('target_url,title,tags,code,short_url,status,error\n');
const inFlight: Promise<string>[] = [];
const writeFirst = async () => {
  const text = await inFlight.shift();
  if (text !== undefined) await target.write(text);
};
for await (const batch of batches()) {
  inFlight.push(resultsOf(batch));
  if (inFlight.length === CONCURRENCY) await writeFirst();
}
while (inFlight.length > 0) await writeFirst();
await target.close();
