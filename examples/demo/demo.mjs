// The whole product in one run: a server on a fresh SQLite file, 24,638 rows imported through the CLI, one short
// link followed. Everything happens on 127.0.0.1 and in a temporary folder, which is kept so that you can look at it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const program = (name) =>
  fileURLToPath(import.meta.resolve(`${name}/package.json`)).replace(
    /package\.json$/,
    'dist/main.js',
  );
const input = fileURLToPath(new URL('../data/us-federal-sites.csv', import.meta.url));
const say = (text) => console.log(`\n== ${text}`);

const folder = await mkdtemp(join(tmpdir(), 'shortlink-demo-'));
const results = join(folder, 'results.csv');

say('Start the server on a fresh SQLite file');
const server = spawn(
  process.execPath,
  [
    program('@shortlink/server'),
    'start',
    '--dev',
    '--port',
    '0',
    '--database',
    `sqlite:${join(folder, 'demo.db')}`,
  ],
  { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, SHORTLINK_LOG_LEVEL: 'error' } },
);
const stopped = once(server, 'exit');
process.on('exit', () => server.kill());

try {
  const { baseUrl, apiKey } = await started(server);
  console.log(`shortlink-server start --dev   serves ${baseUrl}`);

  say('Import 24,638 rows with the CLI');
  const args = [
    'import',
    input,
    '--map',
    'target_url=URL',
    '--map',
    'title=Domain',
    '--map',
    'tags=Agency',
  ];
  console.log(
    'shortlink import us-federal-sites.csv --map target_url=URL --map title=Domain --map tags=Agency',
  );
  await run(
    program('@shortlink/cli'),
    [...args, '--output', results, '--journal', join(folder, 'journal')],
    {
      SHORTLINK_API_KEY: apiKey,
      SHORTLINK_BASE_URL: baseUrl,
    },
  );

  say(`The first lines of ${results}`);
  const lines = await firstLines(results, 6);
  console.log(lines.join('\n'));

  say('Request one short link');
  const shortUrl = /https?:\/\/[^",]+\/[2-9A-Za-z]{7}(?=[",])/.exec(lines[1] ?? '')?.[0];
  if (!shortUrl) throw new Error(`no short URL in: ${lines[1]}`);
  const response = await fetch(shortUrl, { redirect: 'manual' });
  console.log(`GET ${shortUrl}\n${response.status} Location: ${response.headers.get('location')}`);
  if (response.status !== 302) throw new Error(`expected a redirect, got ${response.status}`);
} finally {
  say('Stop the server');
  server.kill('SIGTERM');
  const [code] = await stopped;
  console.log(`stopped with exit code ${code}; everything it wrote is in ${folder}`);
}

/** Reads the server's output once it serves: its address, and the key that `--dev` created. */
async function started(child) {
  let apiKey;
  for await (const line of createInterface({ input: child.stdout })) {
    apiKey ??= /\b(sl_\w+)/.exec(line)?.[1];
    const baseUrl = /^listening on (\S+)$/.exec(line)?.[1];
    if (baseUrl && apiKey) return { baseUrl, apiKey };
  }
  throw new Error('the server ended before it served');
}

async function run(file, args, env) {
  const child = spawn(process.execPath, [file, ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`shortlink ended with exit code ${code}`);
}

async function firstLines(file, count) {
  const lines = [];
  for await (const line of createInterface({ input: createReadStream(file) })) {
    lines.push(line);
    if (lines.length === count) break;
  }
  return lines;
}
