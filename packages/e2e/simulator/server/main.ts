import { parseArgs } from 'node:util';
import { wholeNumber } from '../../src/whole-number.ts';
import { playHistory } from './history.ts';
import { loadServer, type Server } from './load-server.ts';
import { mutants } from './mutants.ts';
import { shrink } from './shrink.ts';

export interface SimulationOptions {
  /** How many histories are played; with `mutants`, how many of each planted bug at most. */
  seeds: number;
  /** The first seed; the others follow it. @default 1 */
  seed?: number | undefined;
  /** Names of planted bugs; each is looked for instead of playing the code as it is. `[]` means all. @default none */
  mutants?: readonly string[] | undefined;
  /** Numbers of the actions that are carried out, as a replay command names them. @default all */
  keep?: readonly number[] | undefined;
  /** Receives what is found, line by line. @default nobody */
  print?: ((line: string) => void) | undefined;
}

export interface SimulationReport {
  /** Histories that were played. */
  seeds: number;
  /** Seeds with something that should never be; or planted bugs that were not found. */
  failures: number;
  requests: number;
  seconds: number;
  /** By name of a planted bug: how many seeds it took to find it. `undefined`: it was not found. */
  foundAfter: Map<string, number | undefined>;
}

/** Failing seeds that are shown with their trace; of the others, the number is enough. */
const MOST_SHOWN = 3;

const COMMAND = 'npx -y pnpm@12 simulate:server';

/** Plays histories of the server, or looks for planted bugs in them. */
export async function simulateServer(options: SimulationOptions): Promise<SimulationReport> {
  const startedAt = performance.now();
  const report: SimulationReport = {
    seeds: 0,
    failures: 0,
    requests: 0,
    seconds: 0,
    foundAfter: new Map(),
  };
  if (options.mutants === undefined) await playAll(options, report);
  else await findMutants(options.mutants, options, report);
  report.seconds = (performance.now() - startedAt) / 1_000;
  return report;
}

async function playAll(options: SimulationOptions, report: SimulationReport): Promise<void> {
  const { seeds, seed: first = 1, keep, print = () => undefined } = options;
  const server = await loadServer();
  const kept = keep && new Set(keep);
  for (let seed = first; seed < first + seeds; seed += 1) {
    const { violation, requests, trace } = await playHistory(server, seed, kept);
    report.seeds += 1;
    report.requests += requests;
    if (violation === undefined) continue;
    report.failures += 1;
    print(`seed ${seed}: ${violation}`);
    if (report.failures > MOST_SHOWN) continue;
    if (kept !== undefined) {
      for (const line of trace) print(`  ${line}`);
      continue;
    }
    const needed = await printShortest(server, seed, print);
    print(`  replay: ${COMMAND} --seed ${seed} --keep ${needed.join(',') || 'none'}`);
  }
}

/** The shortest history of this seed that is still wrong. */
async function printShortest(
  server: Server,
  seed: number,
  print: (line: string) => void,
): Promise<number[]> {
  const { actions } = await playHistory(server, seed);
  const needed = await shrink(server, seed, actions);
  const { trace } = await playHistory(server, seed, new Set(needed));
  for (const line of trace) print(`  ${line}`);
  return needed;
}

async function findMutants(
  names: readonly string[],
  { seeds, seed: first = 1, print = () => undefined }: SimulationOptions,
  report: SimulationReport,
): Promise<void> {
  for (const name of names.length > 0 ? names : Object.keys(mutants)) {
    const mutant = mutants[name];
    if (mutant === undefined) throw new Error(`There is no planted bug ${name}.`);
    const server = await loadServer(mutant.patches);
    let found: string | undefined;
    let played = 0;
    while (found === undefined && played < seeds) {
      const { violation, requests } = await playHistory(server, first + played, undefined);
      found = violation;
      played += 1;
      report.requests += requests;
    }
    report.seeds += played;
    report.foundAfter.set(name, found === undefined ? undefined : played);
    if (found === undefined) report.failures += 1;
    const what = found === undefined ? 'NOT FOUND' : 'found';
    print(`${name}: ${what} after ${played} seeds. ${mutant.bug}`);
    if (found === undefined) continue;
    print(`  seed ${first + played - 1}: ${found.split('\n')[0]}`);
    if (seeds === 1) await printShortest(server, first, print);
  }
}

/**
 * `node main.ts [--seeds N] [--seed S] [--keep 1,2,...] [--mutants [NAME...]]`. A `--seed` alone plays one history; together with
 * `--mutants NAME` it shows how that bug comes to light.
 */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      seeds: { type: 'string' },
      seed: { type: 'string' },
      keep: { type: 'string' },
      mutants: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  const { seed, keep } = values;
  const many = values.mutants ? '20000' : '1000';
  const seeds = wholeNumber('--seeds', values.seeds ?? (seed === undefined ? many : '1'));
  const report = await simulateServer({
    seeds,
    seed: seed === undefined ? undefined : wholeNumber('--seed', seed),
    keep: keep
      ?.split(',')
      .filter((text) => text !== 'none')
      .map(Number),
    mutants: values.mutants ? positionals : undefined,
    print: (line) => process.stdout.write(`${line}\n`),
  });
  const { seconds, failures, requests } = report;
  const rate = Math.round(report.seeds / seconds);
  process.stdout.write(
    `${report.seeds} histories with ${requests} requests, ${failures} failures, ${rate} histories a second\n`,
  );
  process.exitCode = failures > 0 ? 1 : 0;
}

if (import.meta.main) await main();
