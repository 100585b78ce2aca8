import process from 'node:process';
import { isMainThread } from 'node:worker_threads';
import { processIo } from './io.ts';
import { run } from './run.ts';

/** Commands that make much garbage, and get bounded memory. */
const IN_THREAD = ['import', 'verify'];

/**
 * Runs the tool in this process, or in the thread that was started with the same program. Commands that read files run in a thread.
 *
 * @param program - where a thread finds this program: the address of its module, or a function that gives its CommonJS code
 */
export async function start(program: URL | (() => string)): Promise<void> {
  const argv = process.argv.slice(2);
  // `exitCode`, not `exit()`: what was written to a pipe must drain before the process ends.
  if (!isMainThread) {
    const { endThread, threadIo } = await import('./thread.ts');
    const io = threadIo();
    process.exitCode = await run(argv, io);
    await endThread(io);
  } else if (argv[0] !== '__complete' && argv.some((word) => IN_THREAD.includes(word))) {
    const { runInThread } = await import('./thread.ts');
    process.exitCode = await runInThread(argv, program instanceof URL ? program : program());
  } else {
    process.exitCode = await run(argv, processIo());
  }
}
