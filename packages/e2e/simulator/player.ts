import { loadPrograms } from './load-programs.ts';
import { play } from './play.ts';
import { generate } from './scenario/generate.ts';
import type { PlayerModule } from './simulation.ts';

/** Plays imports. */
export const load: PlayerModule['load'] = async (patches, variant) => {
  const programs = await loadPrograms(patches);
  return async (seed) => {
    const { failure, imports, shares } = await play(generate(seed, variant), programs);
    return { failure, amount: imports, shares };
  };
};
