/** Plays the seeds that it is given, on a thread of its own, with planted bugs if there are any. */
import { parentPort, workerData } from 'node:worker_threads';
import type { Variant } from './command-line.ts';
import { countStatements } from './coverage.ts';
import type { Patch } from './patches.ts';
import { addShares, type Shares } from './shares.ts';
import type { SimulatorModule } from './simulation.ts';

/** A number of seeds, one after the other. */
export interface Chunk {
  first: number;
  count: number;
  /** Whether the first failure is enough. */
  stopsAtFailure: boolean;
  /** What is left out of the scenarios, if anything. */
  variant?: Variant;
}

/** What became of a chunk. */
export interface ChunkReport {
  seeds: number;
  /** Imports or requests. */
  amount: number;
  failures: { seed: number; message: string }[];
  shares: Shares;
  /** CPU time of this thread, in microseconds. */
  cpuUs: number;
}

/** What a worker is started with. `module`: the address of a {@link SimulatorModule}. */
export interface WorkerData {
  module: string;
  patches: readonly Patch[];
  /** Whether the statements that are executed are counted. */
  isCounted: boolean;
}

/** A message that asks for the statements that were executed so far. */
export const COVERAGE = 'coverage';

/** A message after which nothing is played any more. */
export const END = 'end';

const { module, patches, isCounted }: WorkerData = workerData;

// Nobody reads the stacks of errors that the programs expect, and making them takes a tenth of the time.
Error.stackTraceLimit = 0;
const readCounts = isCounted ? countStatements() : undefined;
const { load }: SimulatorModule = await import(module);
const simulator = await load(patches);

async function playChunk({ first, count, stopsAtFailure, variant }: Chunk): Promise<ChunkReport> {
  const report: ChunkReport = { seeds: 0, amount: 0, failures: [], shares: {}, cpuUs: 0 };
  const before = process.threadCpuUsage();
  for (let seed = first; seed < first + count; seed += 1) {
    const scenario = simulator.scenarioOf(seed, variant);
    const { failure, amount, shares } = await simulator.play(scenario, false);
    report.seeds += 1;
    report.amount += amount;
    addShares(report.shares, shares);
    if (failure === undefined) continue;
    report.failures.push({ seed, message: failure });
    if (stopsAtFailure) break;
  }
  const { user, system } = process.threadCpuUsage(before);
  return { ...report, cpuUs: user + system };
}

parentPort?.on('message', async (asked: Chunk | typeof COVERAGE | typeof END) => {
  if (asked === COVERAGE) parentPort?.postMessage(readCounts?.() ?? []);
  else if (asked === END) parentPort?.postMessage(await simulator.close?.());
  else parentPort?.postMessage(await playChunk(asked));
});
