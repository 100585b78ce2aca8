import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

/** Why tests with PgBouncer can't run here; `undefined` where it is installed. */
export const withoutPgBouncer =
  spawnSync('pgbouncer', ['--version']).status === 0 ? undefined : 'PgBouncer is not installed';

/** Starts PgBouncer in front of a server, with its own defaults for all but the mode. */
export async function startPgBouncer(
  databaseUrl: string,
  mode: 'session' | 'transaction',
): Promise<{ url: string; stop: () => Promise<void> }> {
  const { hostname, port, username, password } = new URL(databaseUrl);
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-pgbouncer-'));
  const listenPort = await freePort();
  const users = join(folder, 'users.txt');
  const config = join(folder, 'pgbouncer.ini');
  await writeFile(users, `"${username}" "${password}"\n`);
  await writeFile(
    config,
    `[databases]
* = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_file = ${users}
auth_type = plain
pool_mode = ${mode}
`,
  );
  // It refuses to run as root.
  const asUser = process.getuid?.() === 0 ? ['--user=nobody'] : [];
  await Promise.all([chmod(folder, 0o755), chmod(users, 0o644), chmod(config, 0o644)]);
  const child = spawn('pgbouncer', [...asUser, config], { stdio: ['ignore', 'ignore', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  await new Promise<void>((resolve, reject) => {
    let printed = '';
    child.once('exit', () => reject(new Error(`PgBouncer did not start:\n${printed}`)));
    child.stderr.on('data', (bytes: Buffer) => {
      if (printed.length < 10_000) printed += bytes.toString();
      if (printed.includes('process up')) resolve();
    });
  });
  const url = Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${listenPort}` }).href;
  return {
    url,
    stop: async () => {
      process.removeListener('exit', kill);
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true });
    },
  };
}
