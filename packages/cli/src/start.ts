import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { processIo } from './io.ts';
import { run } from './run.ts';

/** Commands that read files of any size, and make much garbage. */
const READERS = ['import', 'verify'];

/**
 * V8 lets the heap of such a program grow to a share of the machine's memory before it collects garbage. An import takes half as much
 * with its young heap kept small, and collected as soon as the old one has 2.4 times its size. V8 reads both numbers anew at each collection.
 */
const HEAP_FLAGS = ['--semi-space-growth-factor=1', '--heap-growing-percent=140'];

/** Runs the tool in this process. */
export async function start(): Promise<void> {
  const argv = process.argv.slice(2);
  if (argv.some((word) => READERS.includes(word))) HEAP_FLAGS.forEach(setFlagsFromString);
  // `exitCode`, not `exit()`: what was written to a pipe must drain before the process ends.
  process.exitCode = await run(argv, processIo());
}
