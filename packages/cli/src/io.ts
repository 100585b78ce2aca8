import { homedir } from 'node:os';
import type { Readable, Writable } from 'node:stream';

export type InputStream = Readable & {
  isTTY?: boolean | undefined;
};

export type OutputStream = Writable & {
  isTTY?: boolean | undefined;
  /** Width of the terminal in characters; undefined where there is none. */
  columns?: number | undefined;
};

/**
 * Everything the tool knows of the process around it. `test/test-io.ts` is its twin: whatever a command reads or
 * prints in a test goes through there.
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
   * Calls `listener` at each Ctrl-C, each SIGTERM, and when stdout can't be written any more (`| head`, a full disk). While nobody
   * listens, a signal ends the process as usual. Returns what takes the listener off again.
   */
  onInterrupt(listener: () => void): () => void;
}

/** The real process. Called once, by main.ts. */
export function processIo(): Io {
  const listeners = new Set<() => void>();
  const interrupt = () => {
    for (const listener of [...listeners]) {
      listener();
    }
  };
  const isHeeded = () => listeners.size > 0;
  followErrors(process.stdout, interrupt, isHeeded);
  followErrors(process.stderr, () => {}, isHeeded);
  return {
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    platform: process.platform,
    home: homedir(),
    onInterrupt(listener) {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        // Taken off first: one that is still to be taken off, below, must not be called twice.
        process.off(signal, interrupt).on(signal, interrupt);
      }
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        // Not in this turn: the spinner's own listener comes after ours, and ends the process when it finds itself alone.
        setImmediate(() => {
          if (listeners.size === 0) {
            process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
          }
        });
      };
    },
  };
}

/**
 * A reader that stops early is no error of ours: without a listener, its EPIPE would end the process with a stack. Each
 * later write may fail again, so it is told once. Output that can't be written for another reason (a full disk) ends
 * the process at once, since whatever it still did could not be seen; but not work that can be told to stop, which meets the same
 * error where it writes.
 */
export function followErrors(
  stream: Writable,
  onBroken: () => void,
  isHeeded: () => boolean,
): void {
  let isBroken = false;
  stream.on('error', (error) => {
    if (!isClosedPipe(error) && !isHeeded() && !isBroken) {
      process.stderr.write(`error: Can't write the output: ${error.message}\n`);
      process.exit(1);
    }
    if (!isBroken) {
      isBroken = true;
      onBroken();
    }
  });
}

/** Whether a write failed because nobody reads any more. The first one fails with EPIPE, the next ones otherwise. */
export function isClosedPipe(error: Error | null | undefined): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED')
  );
}
