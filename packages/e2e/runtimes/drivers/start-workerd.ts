import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { collectOutput } from './run-process.ts';
import { tempFolder } from './temp-folder.ts';

/** Where workerd says on which port it listens. */
const CONTROL_FD = 3;

/** A running worker. */
export interface RunningWorker extends AsyncDisposable {
  url: string;
  /** What the worker has printed so far. */
  output: () => string;
}

/**
 * Runs a module as Cloudflare does by default, without Node compatibility. The only difference: it may reach servers on this machine.
 *
 * @param bindings texts in the worker's `env`, by name
 * @param wasm path of a file that the script imports as `./sqlite3.wasm`. @default none
 */
export async function startWorkerd(
  script: string,
  bindings: Readonly<Record<string, string>> = {},
  wasm?: string,
): Promise<RunningWorker> {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await tempFolder());
  await writeFile(join(folder.path, 'worker.js'), script);
  const config = join(folder.path, 'config.capnp');
  if (wasm !== undefined) await copyFile(wasm, join(folder.path, 'sqlite3.wasm'));
  await writeFile(config, configOf(bindings, wasm !== undefined));

  const program = fileURLToPath(import.meta.resolve('workerd/bin/workerd'));
  const child = spawn(program, ['serve', config, `--control-fd=${CONTROL_FD}`], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const output = collectOutput(child);
  const closed = once(child, 'close');
  cleanup.defer(async () => {
    // SIGTERM would wait for the request in flight.
    child.kill('SIGKILL');
    await closed;
  });
  const port = await listeningPort(child).catch((error: unknown) => {
    throw new Error(`${error}:\n${output()}`, { cause: error });
  });
  const kept = cleanup.move();
  return {
    url: `http://127.0.0.1:${port}/`,
    output,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function configOf(bindings: Readonly<Record<string, string>>, hasWasm: boolean): string {
  const wasm = hasWasm ? ', (name = "sqlite3.wasm", wasm = embed "sqlite3.wasm")' : '';
  const texts = Object.entries(bindings).map(
    // A text of Cap'n Proto understands the escapes of JSON.
    ([name, text]) => `(name = ${JSON.stringify(name)}, text = ${JSON.stringify(text)})`,
  );
  return `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "worker.js")${wasm}],
      bindings = [${texts.join(', ')}],
      compatibilityDate = "2026-01-01",
    )),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`;
}

async function listeningPort(child: ChildProcess): Promise<number> {
  const control = child.stdio[CONTROL_FD];
  if (!(control instanceof Readable)) throw new Error('no control channel');
  for await (const line of createInterface({ input: control })) {
    const { event, port }: { event?: string; port?: number } = JSON.parse(line);
    if (event === 'listen' && port !== undefined) return port;
  }
  throw new Error('workerd ended before it listened');
}
