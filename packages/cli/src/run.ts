import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import type { ExitCode } from './cli-error.ts';
import { type Io, processIo } from './io.ts';
import { VERSION } from './version.ts';

/** The whole tool. Never rejects and never ends the process. */
export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  // Scripts ask for the version often, and it needs no commander.
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
    io.stdout.write(`${VERSION}\n`);
    return 0;
  }
  // Tab must print nothing but words to choose from into what somebody is typing.
  if (argv[0] === '__complete') {
    const { complete } = await import('./commands/completion/complete.ts');
    const offers = await complete(argv.slice(1), io).catch(() => '');
    io.stdout.write(offers ?? '');
    return offers === undefined ? 1 : 0;
  }
  const { runCommand } = await import('./run-command.ts');
  return runCommand(argv, io);
}

/** The commands that read files of any size. */
const READERS = ['import', 'verify'];

/**
 * V8 lets such a heap grow to a share of the machine's memory before it collects garbage. An import takes half as much with a young heap that
 * does not grow, and an old one that is collected at 2.4 times its size. V8 reads both flags at each collection.
 */
const LEAN_HEAP = ['--semi-space-growth-factor=1', '--heap-growing-percent=140'];

/** With the 1 MB that V8 starts with, four times as many collections copy the same rows: an import takes a quarter more time. */
const YOUNG_HEAP_BYTES = 8 * 2 ** 20;

const GROW_FAST = '--semi-space-growth-factor=8';

/** Lets the young heap grow once: enough in it survives a collection. Takes about 10 ms. */
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
export async function start(argv: readonly string[]): Promise<ExitCode> {
  if (argv.some((word) => READERS.includes(word))) setHeap();
  return await run(argv, processIo());
}
