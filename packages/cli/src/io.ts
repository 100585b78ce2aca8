import { Socket } from 'node:net';
import { homedir } from 'node:os';
import type { Readable, Writable } from 'node:stream';

export type InputStream = Readable & {
  isTTY?: boolean | undefined;
};

export type OutputStream = Writable & {
  isTTY?: boolean | undefined;
  /** Undefined where there is no terminal. */
  columns?: number | undefined;
  /** Whether another program reads it, perhaps not to its end. */
  isPipe?: boolean | undefined;
};

/** What the tool knows about the process. In tests, `test/test-io.ts` takes its place. */
export interface Io {
  readonly stdin: InputStream;
  /** Data only. */
  readonly stdout: OutputStream;
  /** Everything for people. */
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  readonly home: string;
  /**
   * Calls `listener` at each Ctrl-C, SIGTERM and SIGHUP, and when stdout can't be written any more (`| head`, a full disk). Without listeners, a
   * signal ends the process. Returns a function that removes the listener.
   */
  onInterrupt(listener: Interrupt): () => void;
}

/** Stops what is running: `closed` where nobody reads the output, or the terminal is gone. */
export type Interrupt = (cause: 'signal' | 'closed') => void;

/** Called once, when the tool starts. */
export function processIo(): Io {
  dropSqliteWarning();
  const { stdin, stdout, stderr, env, platform } = process;
  const listeners = new Set<Interrupt>();
  const interrupt: Interrupt = (cause) => {
    for (const listener of [...listeners]) listener(cause);
  };
  const onSignal = (name: string) => interrupt(name === 'SIGHUP' ? 'closed' : 'signal');
  const listen = () => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.off(signal, onSignal);
      if (listeners.size > 0) process.on(signal, onSignal);
    }
  };
  const hasListeners = () => listeners.size > 0;
  followErrors(stdout, () => interrupt('closed'), hasListeners);
  followErrors(stderr, () => {}, hasListeners);
  const onInterrupt = (listener: Interrupt) => {
    listeners.add(listener);
    listen();
    return () => {
      listeners.delete(listener);
      // Not in this turn: the spinner's own listener runs after this one, and ends the process if no other is left.
      setImmediate(listen);
    };
  };
  const out = Object.assign(stdout, { isPipe: stdout instanceof Socket && !stdout.isTTY });
  return { stdin, stdout: out, stderr, env, platform, home: homeFolder(), onInterrupt };
}

/** Node 22 warns that its SQLite is experimental, which does not concern the user of a tool. Every other warning is printed. */
function dropSqliteWarning(): void {
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite ')) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
}

/** In a container, the user may be a number only: without a name, and without HOME. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return '/';
  }
}

/**
 * Without a listener, the EPIPE of a reader that stops early would end the process with a stack trace. `onBroken` is called once. For any other
 * reason (a full disk), the process ends at once, unless a command listens for interrupts: it gets the same error from its own write.
 */
function followErrors(stream: Writable, onBroken: () => void, hasListeners: () => boolean): void {
  let isBroken = false;
  stream.on('error', (error) => {
    if (isBroken) return;
    if (!isClosedPipe(error) && !hasListeners()) {
      printFatal(`Can't write the output: ${error.message}`);
      process.exit(1);
    }
    isBroken = true;
    onBroken();
  });
}

/** Prints an error that no command can print. */
function printFatal(message: string): void {
  const event = { event: 'error', version: 1, error: { code: 'system', message, exit_code: 1 } };
  const isJson = process.argv.includes('--json');
  process.stderr.write(isJson ? `${JSON.stringify(event)}\n` : `error: ${message}\n`);
}

/** Whether the reader has closed the pipe. The first write fails with EPIPE, later ones with other codes. */
export function isClosedPipe(error: Error | null | undefined): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED';
}
