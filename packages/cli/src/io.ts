import { Socket } from 'node:net';
import { homedir } from 'node:os';
import type { Readable, Writable } from 'node:stream';

export type InputStream = Readable & {
  isTTY?: boolean | undefined;
};

export type OutputStream = Writable & {
  isTTY?: boolean | undefined;
  /** Width of the terminal in characters; undefined where there is none. */
  columns?: number | undefined;
  /** Whether another program reads it, which may end before it has read everything. */
  isPipe?: boolean | undefined;
};

/**
 * Everything the tool knows about the process around it. In tests, `test/test-io.ts` takes its place.
 */
export interface Io {
  readonly stdin: InputStream;
  /** Data only, so that it can be piped. */
  readonly stdout: OutputStream;
  /** Everything for people: progress, summaries, messages, errors. */
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** The user's home directory. */
  readonly home: string;
  /**
   * Calls `listener` at each Ctrl-C, each SIGTERM, and when stdout can't be written any more (`| head`, a full disk). Without
   * listeners, a signal ends the process as usual. Returns a function that removes the listener.
   */
  onInterrupt(listener: Interrupt): () => void;
}

/** Stops what is running: a signal came, or stdout is closed. */
export type Interrupt = (cause: 'signal' | 'closed') => void;

/** The real process. Called once, when the tool starts. */
export function processIo(): Io {
  const { stdin, stdout, stderr, env, platform } = process;
  const listeners = new Set<Interrupt>();
  const interrupt: Interrupt = (cause) => {
    for (const listener of [...listeners]) listener(cause);
  };
  const onSignal = () => interrupt('signal');
  // Without a listener, a signal ends the process.
  const listen = () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
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
      // Not in this turn: the spinner's own listener runs after this one, and ends the process if it is the only one left.
      setImmediate(listen);
    };
  };
  const isPipe = stdout instanceof Socket && !stdout.isTTY;
  return {
    stdin,
    stdout: Object.assign(stdout, { isPipe }),
    stderr,
    env,
    platform,
    home: homedir(),
    onInterrupt,
  };
}

/**
 * Handles output that can't be written. A reader that stops early is no error: without a listener, its EPIPE would end the process
 * with a stack trace. `onBroken` is called once, although later writes fail too. For any other reason (a full disk), the process
 * ends at once, because nothing it still did could be seen. The exception is a command that listens for interrupts: it gets the
 * same error from its own write.
 */
function followErrors(stream: Writable, onBroken: () => void, hasListeners: () => boolean): void {
  let isBroken = false;
  stream.on('error', (error) => {
    if (!isClosedPipe(error) && !hasListeners() && !isBroken) {
      printFatal(`Can't write the output: ${error.message}`);
      process.exit(1);
    }
    if (!isBroken) {
      isBroken = true;
      onBroken();
    }
  });
}

/** Prints why the process ends, where there is no command that could. */
function printFatal(message: string): void {
  const event = { event: 'error', version: 1, error: { code: 'system', message, exit_code: 1 } };
  const isJson = process.argv.includes('--json');
  process.stderr.write(isJson ? `${JSON.stringify(event)}\n` : `error: ${message}\n`);
}

/** Whether a write failed because the reader has closed the pipe. The first write fails with EPIPE, later ones with other codes. */
export function isClosedPipe(error: Error | null | undefined): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED')
  );
}
