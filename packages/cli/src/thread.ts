import process from 'node:process';
import { Worker } from 'node:worker_threads';
import type { FromThread, Terminal, ThreadData, ToThread, WriteFailure } from './thread-io.ts';

/**
 * Bounds of the heap, in megabytes. V8 lets the heap of a program that makes as much garbage as an import grow to a share of the machine's
 * memory before it collects: with these bounds an import takes half as much. Only a thread can be given them, however Node was started.
 */
const HEAP_LIMITS = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 1024 };

/** Signals after which the process ends, whatever the thread is doing. */
const MOST_SIGNALS = 3;

/**
 * Runs the tool in a thread with bounded memory; resolves to its exit code. This thread only passes on what goes in and out: a
 * worker can't write to a terminal by itself, and gets no signals.
 *
 * @param program - the module to run there
 */
export function runInThread(argv: readonly string[], program: URL): Promise<number> {
  const worker = new Worker(program, {
    argv: [...argv],
    stdin: true,
    workerData: {
      stdin: { isTTY: process.stdin.isTTY },
      stdout: terminalOf(process.stdout),
      stderr: terminalOf(process.stderr),
    } satisfies ThreadData,
    resourceLimits: HEAP_LIMITS,
  });
  const send = (message: ToThread) => worker.postMessage(message);
  const signals = relaySignals(() => send({ type: 'interrupt' }));
  for (const name of ['stdout', 'stderr'] as const) {
    // Each write is answered with its own error.
    process[name].on('error', () => {});
    process[name].on('resize', () =>
      send({ type: 'resize', name, columns: process[name].columns }),
    );
  }
  worker.on('message', (message: FromThread) => {
    if (message.type === 'listen') signals.listen(message.isListening);
    else if (message.type === 'read') {
      if (worker.stdin !== null) process.stdin.pipe(worker.stdin);
    } else {
      const { id, name, chunk } = message;
      process[name].write(chunk, (error) => send({ type: 'written', id, error: failureOf(error) }));
    }
  });
  return new Promise((resolve) => {
    worker.on('error', (error) => process.stderr.write(`${String(error)}\n`));
    worker.on('exit', (code) => {
      signals.listen(false);
      process.stdin.destroy();
      resolve(code);
    });
  });
}

/** A message carries no field of an error but its text. */
function failureOf(error: NodeJS.ErrnoException | null | undefined): WriteFailure | undefined {
  return error ? { message: error.message, code: error.code } : undefined;
}

function terminalOf({ isTTY, columns }: NodeJS.WriteStream): Terminal {
  return { isTTY, columns };
}

function relaySignals(interrupt: () => void) {
  let count = 0;
  const onSignal = () => {
    count += 1;
    if (count >= MOST_SIGNALS) process.exit(130);
    interrupt();
  };
  return {
    listen: (isListening: boolean) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        process.off(signal, onSignal);
        if (isListening) process.on(signal, onSignal);
      }
    },
  };
}
