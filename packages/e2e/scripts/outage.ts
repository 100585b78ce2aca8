/**
 * Follows known links through the shipped Caddy configuration while the database of three servers hangs, and prints how long redirects
 * took and when creates succeeded again: `pnpm --filter @shortlink/e2e outage [minutes]`. Needs `caddy` on the PATH.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../server/test/free-port.ts';
import { startPostgres } from '../../server/test/start-postgres.ts';
import { startCluster } from '../src/cluster.ts';
import { startDatabaseProxy } from '../src/database-proxy.ts';
import { admin } from '../src/server-process.ts';
import { wholeNumber } from '../src/whole-number.ts';
import type { KeyRow } from '../src/world.ts';

const LINKS = 100;
const REQUESTS_PER_SECOND = 50;
const HOST = 'sho.rt';
const minutes = wholeNumber('minutes', process.argv[2] ?? '60');

const folder = await mkdtemp(join(tmpdir(), 'shortlink-outage-'));
const postgres = await startPostgres();
const proxy = await startDatabaseProxy(postgres.url);
const cluster = await startCluster({
  database: proxy.url,
  args: ['--public-url', `https://${HOST}`],
});
const port = await freePort();
const caddy = spawn(
  'caddy',
  ['run', '--config', fileURLToPath(import.meta.resolve('../../server/deploy/Caddyfile'))],
  {
    stdio: 'ignore',
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      XDG_DATA_HOME: folder,
      XDG_CONFIG_HOME: folder,
      SHORTLINK_DOMAIN: HOST,
      SHORTLINK_UPSTREAMS: cluster.servers.map(({ url }) => new URL(url).host).join(' '),
      SHORTLINK_TLS_ASK_URL: `${cluster.servers[0]?.url}/internal/tls-check`,
      SHORTLINK_CADDY_OPTIONS: [
        'local_certs',
        'skip_install_trust',
        'admin off',
        'default_bind 127.0.0.1',
        `https_port ${port}`,
        `http_port ${await freePort()}`,
      ].join('\n'),
    },
  },
);
const agent = new Agent({ keepAlive: true, maxSockets: 20 });

try {
  const plan = ['--name', 'outage', '--plan', 'custom'];
  const { id } = await admin<{ id: string }>(postgres.url, [
    'accounts',
    'create',
    '--init',
    ...plan,
  ]);
  const { key } = await admin<KeyRow>(postgres.url, ['keys', 'create', '--account', id]);
  const codes: string[] = [];
  for (let link = 0; link < LINKS; link += 1) codes.push(await create(key));
  await waitUntil(async () => (await follow(codes[0] ?? '')).status === 302, 30_000);
  // Each server has to know each link.
  for (const { url } of cluster.servers) {
    for (const code of codes) {
      await fetch(`${url}/${code}`, { redirect: 'manual', headers: { Host: HOST } });
    }
  }
  for (let round = 0; round < 6; round += 1) await Promise.all(codes.map(follow));

  proxy.hang(true);
  const times: number[] = [];
  const failures = new Map<number, number>();
  const end = performance.now() + minutes * 60_000;
  const pending = new Set<Promise<void>>();
  for (let sent = 0; performance.now() < end; sent += 1) {
    const call = follow(codes[sent % LINKS] ?? '').then(({ status, ms }) => {
      pending.delete(call);
      times.push(ms);
      if (status !== 302) failures.set(status, (failures.get(status) ?? 0) + 1);
    });
    pending.add(call);
    if (sent % (REQUESTS_PER_SECOND * 60) === 0) console.log(summary(times, failures));
    await sleep(1_000 / REQUESTS_PER_SECOND);
  }
  await Promise.all(pending);
  console.log(summary(times, failures));

  proxy.hang(false);
  const startedAt = performance.now();
  await waitUntil(
    () =>
      create(key).then(
        () => true,
        () => false,
      ),
    60_000,
  );
  console.log(`creates work again after ${Math.round(performance.now() - startedAt)} ms`);
} finally {
  agent.destroy();
  caddy.kill();
  await once(caddy, 'exit');
  await cluster.stop();
  await proxy.close();
  await postgres.remove();
  await rm(folder, { recursive: true });
}

async function create(key: string): Promise<string> {
  const response = await fetch(`${cluster.url}/api/v1/links`, {
    method: 'POST',
    headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
    body: JSON.stringify({ target_url: 'https://example.com/known' }),
  });
  if (!response.ok) throw new Error(`a create was answered with ${response.status}`);
  const { code }: { code: string } = JSON.parse(await response.text());
  return code;
}

/** Status 0 stands for a connection that failed. */
function follow(code: string): Promise<{ status: number; ms: number }> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const done = (status: number) => resolve({ status, ms: performance.now() - startedAt });
    request(
      {
        agent,
        host: '127.0.0.1',
        port,
        servername: HOST,
        rejectUnauthorized: false,
        path: `/${code}`,
        headers: { Host: HOST },
      },
      (response) => {
        response.resume().on('end', () => done(response.statusCode ?? 0));
      },
    )
      .on('error', () => done(0))
      .end();
  });
}

function summary(times: readonly number[], failures: ReadonlyMap<number, number>): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => `${sorted[Math.floor(sorted.length * share)]?.toFixed(1)} ms`;
  const failed = [...failures].map(([status, count]) => `${count} of status ${status}`);
  return `${times.length} redirects: p50 ${at(0.5)}, p99 ${at(0.99)}, max ${sorted.at(-1)?.toFixed(1)} ms; failed: ${failed.join(', ') || 'none'}`;
}

async function waitUntil(check: () => Promise<boolean>, withinMs: number): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await check())) {
    if (performance.now() > end) throw new Error('it took too long');
    await sleep(100);
  }
}
