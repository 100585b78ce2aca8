import type { Patch } from '../kernel/patches.ts';

/** A bug that is planted on purpose, to see that the simulator finds it. */
export interface Mutant {
  /** What it does wrong. */
  bug: string;
  patches: readonly Patch[];
}

/** @param file - below the server's sources */
export const one = (bug: string, file: string, find: string, replace: string): Mutant => ({
  bug,
  patches: [{ file: `server/src/${file}`, find, replace }],
});
