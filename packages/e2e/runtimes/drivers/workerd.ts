import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { bundleEntry } from './bundle-entry.ts';
import { collectOutput } from './run-process.ts';
import type { Runtime } from './runtime.ts';
import { tempFolder } from './temp-folder.ts';

/** Where workerd says on which port it listens. */
const CONTROL_FD = 3;

/** A worker as Cloudflare runs it by default, save that it may reach servers on this machine. No Node compatibility. */
const CONFIG = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "suite", worker = (
      modules = [(name = "worker", esModule = embed "worker.js")],
      compatibilityDate = "2026-01-01",
    )),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "suite")],
);
`;

export const workerd: Runtime = {
  name: 'workerd',
  packageName: 'workerd',
  tellsNotSent: false,
  repeatsLostPosts: false,
  async run(stageUrl, signal) {
    await using folder = await tempFolder();
    await writeFile(
      join(folder.path, 'worker.js'),
      await bundleEntry('worker', ['workerd', 'worker', 'browser']),
    );
    const config = join(folder.path, 'config.capnp');
    await writeFile(config, CONFIG);

    const program = fileURLToPath(import.meta.resolve('workerd/bin/workerd'));
    const child = spawn(program, ['serve', config, `--control-fd=${CONTROL_FD}`], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    const output = collectOutput(child);
    const closed = once(child, 'close');
    try {
      const port = await listeningPort(child);
      const url = new URL(`http://127.0.0.1:${port}/`);
      url.searchParams.set('stage', stageUrl);
      const answer = await fetch(url, { signal });
      if (!answer.ok) throw new Error(`the worker answered ${answer.status}`);
    } catch (error) {
      throw new Error(`${error}:\n${output()}`, { cause: error });
    } finally {
      // SIGTERM would wait for the request in flight.
      child.kill('SIGKILL');
      await closed;
    }
    return { version: await version(), output: output() };
  },
};

async function listeningPort(child: ChildProcess): Promise<number> {
  const control = child.stdio[CONTROL_FD];
  if (!(control instanceof Readable)) throw new Error('no control channel');
  for await (const line of createInterface({ input: control })) {
    const { event, port }: { event?: string; port?: number } = JSON.parse(line);
    if (event === 'listen' && port !== undefined) return port;
  }
  throw new Error('workerd ended before it listened');
}

/** The package's version: the program itself prints a date only. */
async function version(): Promise<string> {
  const { default: manifest } = await import('workerd/package.json', { with: { type: 'json' } });
  return manifest.version;
}
