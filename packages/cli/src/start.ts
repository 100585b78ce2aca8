import process from 'node:process';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { processIo } from './io.ts';
import { run } from './run.ts';

/** Commands that read files of any size, and make much garbage. */
const READERS = ['import', 'verify'];

/**
 * V8 lets the heap of such a program grow to a share of the machine's memory before it collects garbage. An import takes half as much with a
 * young heap that does not grow, and an old one that is collected as soon as it has 2.4 times its size. V8 reads both flags at each collection.
 */
const LEAN_HEAP = ['--semi-space-growth-factor=1', '--heap-growing-percent=140'];

/** With the young heap that V8 starts with, of 1 MB, four times as many collections copy the same rows: an import takes a quarter more time. */
const YOUNG_HEAP_BYTES = 8 * 2 ** 20;

const GROW_FAST = '--semi-space-growth-factor=8';

/** Lets the young heap grow once, which it does when enough in it survives a collection. Takes about 10 ms. */
function setHeap(): void {
  setFlagsFromString(GROW_FAST);
  const kept: unknown[] = [];
  while (youngBytes() < YOUNG_HEAP_BYTES && kept.length < 20) {
    kept.push(Array.from({ length: 16 }, () => new Array(4096).fill(0)));
  }
  LEAN_HEAP.forEach(setFlagsFromString);
}

function youngBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
  return young?.space_size ?? 0;
}

/** Runs the tool in this process. */
export async function start(): Promise<void> {
  const argv = process.argv.slice(2);
  if (argv.some((word) => READERS.includes(word))) setHeap();
  // `exitCode`, not `exit()`: what was written to a pipe must drain before the process ends.
  process.exitCode = await run(argv, processIo());
}
