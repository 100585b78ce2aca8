import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { ClockMessage } from './movable-clock.ts';
import { SERVER_PROGRAM } from './programs.ts';
import { cleanEnvironment, runProgram } from './run-program.ts';

const MOVABLE_CLOCK = new URL('./movable-clock.ts', import.meta.url).href;

/** A real `shortlink-server start` on a free port of 127.0.0.1. */
export interface ServerProcess {
  url: string;
  port: number;
  child: ChildProcess;
  /** The log: everything that it has printed on standard error so far. */
  log: () => string;
  /** Sets the server's clock; resolves once it is in effect. Needs `hasMovableClock`. */
  setClock: (message: ClockMessage) => Promise<void>;
  /** Sends the signal and waits until the process has ended; resolves to its exit code, `null` when killed. */
  stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

export interface StartOptions {
  /** URL of the database. */
  database: string;
  /** @default 0, a free one */
  port?: number | undefined;
  args?: readonly string[] | undefined;
  /** Lets {@link ServerProcess.setClock} move its clock. @default false */
  hasMovableClock?: boolean | undefined;
  /** One server, also where tests otherwise get three. @default false */
  isAlone?: boolean | undefined;
}

/** Starts the server and resolves once it prints that it listens. */
export async function startServer(options: StartOptions): Promise<ServerProcess> {
  const child = spawn(
    process.execPath,
    [
      ...(options.hasMovableClock ? ['--import', MOVABLE_CLOCK] : []),
      SERVER_PROGRAM,
      'start',
      '--port',
      String(options.port ?? 0),
      '--database',
      options.database,
      ...(options.args ?? []),
    ],
    {
      env: cleanEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe', options.hasMovableClock ? 'ipc' : 'ignore'],
    },
  );
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.removeListener('exit', kill));
  if (child.stdout === null || child.stderr === null) throw new Error('a server has pipes');
  const { stdout } = child;
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const url = await new Promise<string>((resolve, reject) => {
    const lines = createInterface({ input: stdout });
    lines.on('line', (line) => {
      const found = /^listening on (http:\S+)$/.exec(line);
      if (found?.[1]) resolve(found[1]);
    });
    child.once('exit', (code) =>
      reject(new Error(`server ended with ${code} before listening:\n${log}`)),
    );
  });
  return {
    url,
    port: Number(new URL(url).port),
    child,
    log: () => log,
    setClock: async (message) => {
      const isSet = once(child, 'message');
      child.send(message);
      await isSet;
    },
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) {
        const exit = once(child, 'exit');
        child.kill(signal);
        await exit;
      }
      return child.exitCode;
    },
  };
}

/** Runs an admin command with `--json` and returns what it printed. */
export async function admin<T>(database: string, args: readonly string[]): Promise<T> {
  const result = await adminRaw(database, [...args, '--json']);
  if (result.exitCode !== 0) {
    throw new Error(
      `shortlink-server ${args.join(' ')} ended with ${result.exitCode}: ${result.stderr}`,
    );
  }
  return JSON.parse(result.stdout) as T;
}

/** Runs an admin command whatever its exit code. */
export function adminRaw(database: string, args: readonly string[]) {
  return runProgram(SERVER_PROGRAM, args, { env: { SHORTLINK_DATABASE_URL: database } });
}
