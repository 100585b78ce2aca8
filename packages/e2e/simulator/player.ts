import type { SimulatorModule } from './kernel/simulation.ts';
import { loadPrograms } from './load-programs.ts';
import { play } from './play.ts';
import { generate } from './scenario/generate.ts';
import { smaller } from './scenario/shrink.ts';

/** Plays imports. */
export const load = (async (patches) => {
  const programs = await loadPrograms(patches);
  return {
    scenarioOf: generate,
    play: (scenario, isTraced) => play(scenario, programs, isTraced),
    smaller,
    // On a line each: what happens in a run, and each of its lists.
    shown: (scenario) => JSON.stringify(scenario, undefined, 1).replace(/\n\s{3,}/g, ' '),
    again: () => '',
  };
}) satisfies SimulatorModule<ReturnType<typeof generate>>['load'];
