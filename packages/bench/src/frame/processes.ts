import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';

/** A process that responds to one message at a time. */
export interface Child {
  pid: number;
  /** Sends a message and resolves to the response; see {@link answerParent}. */
  ask: <Answer>(message: unknown) => Promise<Answer>;
  stop: () => Promise<void>;
}

/** Longest time for one response, in milliseconds: a bench that hangs must end. */
const ANSWER_LIMIT_MS = 600_000;

/** Longest time from the start of a program to its first output, in milliseconds. */
const START_LIMIT_MS = 20_000;

/** The processes that a section started; each is stopped by its own id. */
export class Children {
  readonly #running = new Set<ChildProcess>();

  /** Starts a TypeScript program of this package that responds to messages. */
  async start(program: URL, args: readonly string[] = []): Promise<Child> {
    const child = fork(program, args, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    const ready = nextMessage(child, START_LIMIT_MS);
    const pid = this.#adopt(child);
    await ready;
    return {
      pid,
      ask: async <Answer>(message: unknown) => {
        const answer = nextMessage(child, ANSWER_LIMIT_MS);
        child.send(message as object);
        // Each program and its one caller agree on the type of the response. The channel can't check it.
        return (await answer) as Answer;
      },
      stop: () => this.#stop(child),
    };
  }

  /** Starts a program and resolves to its standard output so far, once a line of it matches. */
  async startUntil(
    program: string,
    args: readonly string[],
    pattern: RegExp,
  ): Promise<{ pid: number; output: string; stop: () => Promise<void> }> {
    const child = spawn(process.execPath, [program, ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const pid = this.#adopt(child);
    let output = '';
    await within(START_LIMIT_MS, child, (resolve) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        output += `${line}\n`;
        if (pattern.test(line)) resolve(line);
      });
    });
    return { pid, output, stop: () => this.#stop(child) };
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map((child) => this.#stop(child)));
  }

  /** Ends every process at once, without waiting. Called when this process ends. */
  kill(): void {
    for (const child of this.#running) child.kill('SIGKILL');
  }

  #adopt(child: ChildProcess): number {
    if (child.pid === undefined) throw new Error(`${child.spawnfile} did not start`);
    this.#running.add(child);
    child.once('exit', () => this.#running.delete(child));
    return child.pid;
  }

  async #stop(child: ChildProcess): Promise<void> {
    if (!this.#running.has(child)) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    const impatient = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await exited;
    clearTimeout(impatient);
  }
}

/** The next message; rejects when the process ends first, or reports an error. */
async function nextMessage(child: ChildProcess, limitMs: number): Promise<unknown> {
  const message = await within(limitMs, child, (resolve) => child.once('message', resolve));
  if (message instanceof Error) throw message;
  return message;
}

async function within(
  limitMs: number,
  child: ChildProcess,
  wait: (resolve: (value: unknown) => void) => void,
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const program = child.spawnargs.slice(1).join(' ');
  const onExit = () => reject(new Error(`ended before it answered: ${program}`));
  const timer = setTimeout(() => reject(new Error(`no answer in time: ${program}`)), limitMs);
  child.once('exit', onExit);
  wait(resolve);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    child.removeListener('exit', onExit);
  }
}

/**
 * The other end of `Child.ask`: reports that the program is ready, then responds to each message with the result of `work`,
 * or with the error that it throws. Ends with its parent.
 */
export function answerParent<Message>(work: (message: Message) => unknown): void {
  const send = process.send?.bind(process);
  if (send === undefined) throw new Error('this program is started by the bench');
  process.on('message', async (message: Message) => {
    try {
      send((await work(message)) ?? null);
    } catch (error) {
      send(error instanceof Error ? error : new Error(String(error)));
    }
  });
  process.on('disconnect', () => process.exit());
  send('ready');
}

/** Listens on a free port of 127.0.0.1 and resolves to the server's URL. */
export async function listenOnLoopback(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return `http://127.0.0.1:${address.port}`;
}

/** Linux counts the processor time of a process in ticks of 1/100 s (proc(5), `utime` and `stime`). */
const MS_PER_TICK = 10;

/** Processor time a process has used so far, over all its threads, in milliseconds; NaN where the system doesn't report it. */
export function cpuTimeMs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field, the program's name in brackets, may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
  } catch {
    return Number.NaN;
  }
}

/** Gives a process more (down to -20) or less (up to 19) of the processors than others; false where this user may not. */
export function setNice(pid: number, nice: number): boolean {
  try {
    setPriority(pid, nice);
    return true;
  } catch {
    return false;
  }
}

/** Largest memory a process has held so far, in MB; NaN where the system doesn't report it. */
export function peakMemoryMb(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024;
  } catch {
    return Number.NaN;
  }
}
