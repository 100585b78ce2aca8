import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stubService } from './stub-service.ts';
import { type CliOptions, cli, testFolder } from './test-io.ts';

/** What is asked for where links are created. */
export const BATCH = 'POST /api/v1/links/batch';
/** Two rows that can be sent. */
export const GOOD = 'url,title\nhttps://example.com/a,A\nhttps://example.com/b,B\n';
/** So many lines of a URL list. */
export const urls = (count: number) =>
  Array.from({ length: count }, (_, i) => `https://example.com/${i}\n`).join('');

/** A folder with one input, a service, and how to import the one into the other. */
export async function scene(text: string, name = 'links.csv') {
  const [service, folder] = [await stubService(), await testFolder()];
  const input = join(folder, name);
  await writeFile(input, text);
  const run = (args: string[] = [], options: CliOptions = {}) =>
    cli(['import', input, ...args], { ...options, env: { ...service.env, ...options.env } });
  const bodies = () =>
    service.requests.filter(({ method }) => method === 'POST').map((r) => r.body);
  return { service, folder, input, run, bodies };
}
