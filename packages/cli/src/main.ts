#!/usr/bin/env node
import { isMainThread } from 'node:worker_threads';
import { processIo } from './io.ts';
import { run } from './run.ts';

const argv = process.argv.slice(2);
// `exitCode`, not `exit()`: what was written to a pipe must drain before the process ends.
if (!isMainThread) {
  const { threadIo } = await import('./thread.ts');
  process.exitCode = await run(argv, threadIo());
} else if (argv.includes('import')) {
  const { runInThread } = await import('./thread.ts');
  process.exitCode = await runInThread(argv, new URL(import.meta.url));
} else {
  process.exitCode = await run(argv, processIo());
}
