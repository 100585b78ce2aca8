/** Plays the seeds that it is given, on a thread of its own, with planted bugs if there are any. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Variant } from './command-line.ts';
import { loadPrograms } from './load-programs.ts';
import { addShares, type Shares } from './oracle/tally.ts';
import type { Patch } from './patches.ts';
import { play } from './play.ts';
import { generate } from './scenario/generate.ts';

/** A number of seeds, one after the other. */
export interface Chunk {
  first: number;
  count: number;
  /** Whether the first failure is enough. */
  stopsAtFailure: boolean;
}

/** What became of a chunk. */
export interface ChunkReport {
  seeds: number;
  imports: number;
  failures: { seed: number; message: string }[];
  shares: Shares;
  /** CPU time of this thread, in microseconds. */
  cpuUs: number;
}

const { patches, variant }: { patches: readonly Patch[]; variant: Variant | undefined } =
  workerData;

// Nobody reads the stacks of errors that the programs expect, and making them takes a tenth of the time.
Error.stackTraceLimit = 0;
const programs = await loadPrograms(patches);

async function playChunk({ first, count, stopsAtFailure }: Chunk): Promise<ChunkReport> {
  const report: ChunkReport = { seeds: 0, imports: 0, failures: [], shares: {}, cpuUs: 0 };
  const before = process.threadCpuUsage();
  for (let seed = first; seed < first + count; seed += 1) {
    const played = await play(generate(seed, variant), programs);
    report.seeds += 1;
    report.imports += played.imports;
    addShares(report.shares, played.shares);
    if (played.failure === undefined) continue;
    report.failures.push({ seed, message: played.failure });
    if (stopsAtFailure) break;
  }
  const { user, system } = process.threadCpuUsage(before);
  return { ...report, cpuUs: user + system };
}

parentPort?.on('message', (chunk: Chunk) => {
  playChunk(chunk).then((report) => parentPort?.postMessage(report));
});
