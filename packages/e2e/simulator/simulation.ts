import type { Variant } from './command-line.ts';
import type { Shares } from './oracle/tally.ts';
import type { Patch } from './patches.ts';

/** A bug that the simulation must find. It exists while its worker runs, and nowhere else. */
export interface Mutant {
  name: string;
  patches: readonly Patch[];
}

/** What came of a seed. */
export interface Played {
  /** What should never be; `undefined` when all was well. */
  failure: string | undefined;
  /** Imports or requests. */
  amount: number;
  /** How often rules were checked that can't be checked always. */
  shares: Shares;
}

/** What a worker loads: the programs under test, with planted bugs if there are any, and what plays a seed with them. */
export interface PlayerModule {
  load: (
    patches: readonly Patch[],
    variant: Variant | undefined,
  ) => Promise<(seed: number) => Promise<Played>>;
}

/** One seed, to look at it. */
export interface OneSeed {
  seed: number;
  variant: Variant;
  /** Of a planted bug, if one is named. */
  patches: readonly Patch[];
  /** Numbers of the actions that are carried out. @default all */
  keep: readonly number[] | undefined;
  say: (line: string) => void;
}

/** What can be simulated: everything that {@link ./run.ts} needs to play seeds of it. */
export interface Simulation {
  /** What follows `pnpm`. */
  command: string;
  /** The first line of the help. */
  about: string;
  /** Options that only this simulation has, as lines of the help. */
  options: Record<string, string>;
  /** A {@link PlayerModule}. */
  player: URL;
  /** What {@link Played.amount} counts. */
  unit: string;
  mutants: readonly Mutant[];
  seeds: number;
  /** Packages of which `--coverage` tells what is executed, and how many seeds it plays. */
  coverage: { packages: readonly string[]; seeds: number };
  workers: number;
  /** Plays a seed and shows it, shortened where it fails. Resolves to whether it passes. */
  playOne: (one: OneSeed) => Promise<boolean>;
}
