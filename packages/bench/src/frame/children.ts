import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A process that answers one message at a time. */
export interface Child {
  pid: number;
  /** Sends a message and resolves to the answer, see `answer-parent.ts`. */
  ask: <Answer>(message: unknown) => Promise<Answer>;
  stop: () => Promise<void>;
}

/** Longest time for one answer, in milliseconds: a bench that hangs must end. */
const ANSWER_LIMIT_MS = 600_000;

/** Longest time from the start of a program to its first word, in milliseconds. */
const START_LIMIT_MS = 20_000;

/** The processes that a section started; each is stopped by its own id. */
export class Children {
  readonly #running = new Set<ChildProcess>();

  /** Starts a TypeScript program of this package that answers messages. */
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

/** The next message; rejects when the process ends first, or answers that it failed. */
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
