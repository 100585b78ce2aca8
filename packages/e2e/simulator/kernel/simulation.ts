import type { Variant } from './command-line.ts';
import type { Patch } from './patches.ts';
import type { Shares } from './shares.ts';

/** A bug that the simulation must find. It exists while its worker runs, and nowhere else. */
export interface Mutant {
  name: string;
  patches: readonly Patch[];
}

/** What came of a scenario. */
export interface Played {
  /** What should never be; `undefined` when all was well. */
  failure: string | undefined;
  /** Imports or requests. */
  amount: number;
  /** How often rules were checked that can't be checked always. */
  shares: Shares;
  /** What happened, line by line; empty where nobody reads it. */
  trace: readonly string[];
}

/** The programs under test are loaded, and can be played. A scenario is all that decides what happens, as plain data. */
export interface Simulator<Scenario> {
  /**
   * The scenario of a seed.
   *
   * @param keep - numbers of the actions that are carried out; all of them by default
   */
  scenarioOf(seed: number, variant?: Variant, keep?: readonly number[]): Scenario;
  play(scenario: Scenario, isTraced: boolean): Promise<Played>;
  /** The same with a part less, the largest parts first. */
  smaller(scenario: Scenario): Iterable<Scenario>;
  /** What a failing scenario is, where its trace alone does not tell. */
  shown(scenario: Scenario): string | undefined;
  /** What follows the seed in the command that plays it again. */
  again(scenario: Scenario): string;
  /** Ends what was started outside of this thread. @default nothing was */
  close?(): Promise<void>;
}

/** What a thread loads: the programs under test, with planted bugs if there are any. */
export interface SimulatorModule<Scenario = unknown> {
  load: (patches: readonly Patch[]) => Promise<Simulator<Scenario>>;
}

/** What can be simulated: everything that {@link ./run.ts} needs to play seeds of it. */
export interface Simulation {
  /** What follows `pnpm`. */
  command: string;
  /** The first line of the help. */
  about: string;
  /** Options that only this simulation has, as lines of the help. */
  options: Record<string, string>;
  /** A {@link SimulatorModule}. */
  player: URL;
  /** What {@link Played.amount} counts. */
  unit: string;
  mutants: readonly Mutant[];
  seeds: number;
  /** Packages of which `--coverage` tells what is executed, and how many seeds it plays. */
  coverage: { packages: readonly string[]; seeds: number };
  workers: number;
}
