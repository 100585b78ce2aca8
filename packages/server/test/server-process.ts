import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach } from 'vitest';

const PACKAGES = fileURLToPath(new URL('../../', import.meta.url));
const BUILT = join(PACKAGES, 'server/dist/main.js');

/** The built program, which starts in two thirds of the time. Where a source is newer than it, as after each change, the source. */
const MAIN = isBuiltFromSources() ? BUILT : join(PACKAGES, 'server/src/main.ts');

function isBuiltFromSources(): boolean {
  const builtMs = statSync(BUILT, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return globSync('{server,tables}/src/**/*.{ts,html,css,js}', { cwd: PACKAGES })
    .filter((file) => !file.includes('.test'))
    .every((file) => statSync(join(PACKAGES, file)).mtimeMs < builtMs);
}

/** A serving process: its URL, and the key that `--dev` printed. */
export interface ServerProcess {
  child: ChildProcess;
  ended: Promise<{ code: number | null; stderr: string }>;
  /** What it wrote to standard error so far. */
  log: () => string;
  key: string;
  url: string;
}

/** Runs the real program in a folder of each test's own; what still runs after the test is killed. */
export function useProcesses() {
  let folder: string;
  let children: ChildProcess[];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'shortlink-server-'));
    children = [];
  });
  afterEach(async () => {
    for (const child of children.filter(
      ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
    )) {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
    await rm(folder, { recursive: true, force: true });
  });

  function run(args: string[], env: Record<string, string> = {}, user: { uid?: number } = {}) {
    const child = spawn(process.execPath, [MAIN, ...args], {
      ...user,
      cwd: folder,
      env: {
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        SHORTLINK_DATABASE_URL: `sqlite:${join(folder, 'x.db')}`,
        ...env,
      },
    });
    children.push(child);
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const ended = once(child, 'close').then(([code]) => ({ code, stderr }));
    return { child, ended, log: () => stderr };
  }

  async function start(
    args: string[] = [],
    env: Record<string, string> = {},
  ): Promise<ServerProcess> {
    const { child, ended, log } = run(['start', '--dev', '--port', '0', ...args], env);
    let key = '';
    for await (const line of createInterface({ input: child.stdout })) {
      key ||= /^api key: (sl_\w+)$/.exec(line)?.[1] ?? '';
      const url = /^listening on (http:\S+)$/.exec(line)?.[1];
      if (url !== undefined) return { child, ended, log, key, url };
    }
    throw new Error((await ended).stderr);
  }

  return { run, start, folder: () => folder };
}

export const post = (server: { url: string; key: string }, body: unknown) =>
  fetch(`${server.url}/api/v1/links`, {
    method: 'POST',
    headers: { 'X-Api-Key': server.key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });

export function connectTo(url: string): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  // The server may close while we still send; what it said before counts.
  return socket.on('error', () => undefined);
}

/** Sends these bytes and resolves to all that comes back until the other side closes. */
export async function raw(url: string, ...parts: (string | Buffer)[]): Promise<string> {
  const socket = connectTo(url);
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  for (const part of parts) socket.write(part);
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}
