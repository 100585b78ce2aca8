import { fstatSync } from 'node:fs';
import { homedir } from 'node:os';
import process from 'node:process';
import { clearLine, cursorTo, moveCursor } from 'node:readline';
import { Writable } from 'node:stream';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { type Io, interrupts, listenToSignals, type OutputStream, printFatal } from './io.ts';

/**
 * Bounds of the heap, in megabytes. V8 lets the heap of a program that makes as much garbage as an import grow to a share of the machine's
 * memory before it collects: with these bounds an import takes half as much. Only a thread can be given them, however Node was started.
 */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 1024 };

/** The process ends at the signal with this number, even if the thread hangs. */
const MOST_SIGNALS = 3;

/**
 * Runs the tool in a thread with bounded memory; resolves to its exit code. This thread only passes on what goes in and out: a
 * worker can't write to a terminal by itself, and gets no signals.
 *
 * @param program - the module to run there, or its CommonJS code
 */
export function runInThread(argv: readonly string[], program: URL | string): Promise<number> {
  const worker = new Worker(program, {
    argv: [...argv],
    eval: typeof program === 'string',
    stdin: true,
    workerData: {
      stdin: { isTTY: process.stdin.isTTY },
      stdout: terminalOf(process.stdout),
      stderr: terminalOf(process.stderr),
    } satisfies ThreadData,
    resourceLimits: HEAP_LIMITS,
  });
  const send = (message: ToThread) => worker.postMessage(message);
  let signals = 0;
  const onSignal = () => {
    signals += 1;
    if (signals >= MOST_SIGNALS) process.exit(130);
    send({ type: 'interrupt' });
  };
  for (const name of ['stdout', 'stderr'] as const) {
    // The callback of each write reports its error.
    process[name].on('error', () => {});
    process[name].on('resize', () =>
      send({ type: 'resize', name, columns: process[name].columns }),
    );
  }
  worker.on('message', (message: FromThread) => {
    if (message.type === 'listen') listenToSignals(onSignal, message.isListening);
    else if (message.type === 'read') {
      if (worker.stdin !== null) process.stdin.pipe(worker.stdin);
    } else {
      const { id, name, chunk } = message;
      process[name].write(chunk, (error) => send({ type: 'written', id, error: failureOf(error) }));
    }
  });
  return new Promise((resolve) => {
    worker.on('error', (error) => printFatal(String(error)));
    worker.on('exit', (code) => {
      listenToSignals(onSignal, false);
      process.stdin.destroy();
      resolve(code);
    });
  });
}

/** Of an error, a message between threads keeps only the text. */
function failureOf(error: NodeJS.ErrnoException | null | undefined): WriteFailure | undefined {
  return error ? { message: error.message, code: error.code } : undefined;
}

function terminalOf({ isTTY, columns, fd }: NodeJS.WriteStream & { fd: number }): Terminal {
  const stats = fstatSync(fd);
  return { isTTY, columns, isPipe: stats.isFIFO() || stats.isSocket() };
}

/** What a thread needs to know about the terminal when it starts. */
interface Terminal {
  isTTY: boolean | undefined;
  columns: number | undefined;
  isPipe: boolean;
}

interface ThreadData {
  stdin: Pick<Terminal, 'isTTY'>;
  stdout: Terminal;
  stderr: Terminal;
}

type StreamName = 'stdout' | 'stderr';

/** Messages of the thread to the process, and of the process to the thread. */
type FromThread =
  | { type: 'write'; name: StreamName; id: number; chunk: Uint8Array }
  | { type: 'read' }
  | { type: 'listen'; isListening: boolean };
type ToThread =
  | { type: 'written'; id: number; error: WriteFailure | undefined }
  | { type: 'resize'; name: StreamName; columns: number | undefined }
  | { type: 'interrupt' };

/** Why a write failed. */
interface WriteFailure {
  message: string;
  code: string | undefined;
}

/** The process, as seen from the thread that `runInThread` starts. */
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
        // The thread must not end before the result of the write has arrived.
        port.ref();
        send({ type: 'write', name, id: writes, chunk });
      },
    });
    const { isTTY, columns, isPipe } = data[name];
    if (isTTY !== true) return Object.assign(stream, { isPipe });
    return Object.assign(stream, {
      isTTY: true,
      columns,
      clearLine: (direction: -1 | 0 | 1) => clearLine(stream, direction),
      cursorTo: (x: number, y?: number) => cursorTo(stream, x, y),
      moveCursor: (dx: number, dy: number) => moveCursor(stream, dx, dy),
    });
  };
  const streams = { stdout: output('stdout'), stderr: output('stderr') };

  const { interrupt, onInterrupt } = interrupts(streams, (isListening) =>
    send({ type: 'listen', isListening }),
  );
  port.on('message', (message: ToThread) => {
    if (message.type === 'interrupt') interrupt('signal');
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
  let isRead = false;
  return {
    // Read on demand only: otherwise this program would swallow what the user types for the next one.
    get stdin() {
      if (!isRead) send({ type: 'read' });
      isRead = true;
      return Object.assign(process.stdin, data.stdin);
    },
    ...streams,
    // biome-ignore lint/style/noProcessEnv: here, as in io.ts, the environment comes in.
    env: process.env,
    platform: process.platform,
    home: homedir(),
    onInterrupt,
  };
}

/** Ends the thread once its output is written. It would live on for standard input that was not read to its end. */
export async function endThread({ stdout, stderr }: Io): Promise<void> {
  for (const stream of [stdout, stderr]) {
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
  }
  // Not in this turn: the error of a last write is handled in it.
  setImmediate(() => process.exit());
}
