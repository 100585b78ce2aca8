import { homedir } from 'node:os';
import process from 'node:process';
import { clearLine, cursorTo, moveCursor } from 'node:readline';
import { Writable } from 'node:stream';
import { parentPort, workerData } from 'node:worker_threads';
import { followErrors, type Io, type OutputStream } from './io.ts';

/** What a thread needs to know about the terminal when it starts. */
export interface Terminal {
  isTTY: boolean | undefined;
  columns: number | undefined;
}

export interface ThreadData {
  stdin: Pick<Terminal, 'isTTY'>;
  stdout: Terminal;
  stderr: Terminal;
}

type StreamName = 'stdout' | 'stderr';

/** Messages of the thread to the process, and of the process to the thread. */
export type FromThread =
  | { type: 'write'; name: StreamName; id: number; chunk: Uint8Array }
  | { type: 'read' }
  | { type: 'listen'; isListening: boolean };
export type ToThread =
  | { type: 'written'; id: number; error: WriteFailure | undefined }
  | { type: 'resize'; name: StreamName; columns: number | undefined }
  | { type: 'interrupt' };

/** Why a write failed. */
export interface WriteFailure {
  message: string;
  code: string | undefined;
}

/** The process around the tool, as a thread of it sees it. See `thread.ts` for its other end. */
export function threadIo(): Io {
  const port = parentPort;
  if (port === null) throw new Error('this is no thread');
  const data: ThreadData = workerData;
  const pending = new Map<number, (error?: Error | null) => void>();
  let writes = 0;
  const send = (message: FromThread) => port.postMessage(message);

  const output = (name: StreamName): OutputStream => {
    const stream: Writable = new Writable({
      write: (chunk: Uint8Array, _encoding, done) => {
        writes += 1;
        pending.set(writes, done);
        // The thread may not end before it knows what became of the write.
        port.ref();
        send({ type: 'write', name, id: writes, chunk });
      },
    });
    if (data[name].isTTY !== true) return stream;
    return Object.assign(stream, {
      isTTY: true,
      columns: data[name].columns,
      clearLine: (direction: -1 | 0 | 1) => clearLine(stream, direction),
      cursorTo: (x: number, y?: number) => cursorTo(stream, x, y),
      moveCursor: (dx: number, dy: number) => moveCursor(stream, dx, dy),
    });
  };
  const streams = { stdout: output('stdout'), stderr: output('stderr') };

  const listeners = new Set<() => void>();
  const interrupt = () => {
    for (const listener of [...listeners]) listener();
  };
  port.on('message', (message: ToThread) => {
    if (message.type === 'interrupt') interrupt();
    else if (message.type === 'resize') streams[message.name].columns = message.columns;
    else {
      const done = pending.get(message.id);
      pending.delete(message.id);
      if (pending.size === 0) port.unref();
      const { error } = message;
      done?.(error && Object.assign(new Error(error.message), { code: error.code }));
    }
  });
  port.unref();
  const isHeeded = () => listeners.size > 0;
  followErrors(streams.stdout, interrupt, isHeeded);
  followErrors(streams.stderr, () => {}, isHeeded);

  return {
    // Read only when somebody asks: reading would take the user's typing away from the next program.
    get stdin() {
      send({ type: 'read' });
      return Object.assign(process.stdin, data.stdin);
    },
    ...streams,
    // biome-ignore lint/style/noProcessEnv: here, as in io.ts, the environment comes in.
    env: process.env,
    platform: process.platform,
    home: homedir(),
    onInterrupt(listener) {
      listeners.add(listener);
      send({ type: 'listen', isListening: true });
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) send({ type: 'listen', isListening: false });
      };
    },
  };
}
