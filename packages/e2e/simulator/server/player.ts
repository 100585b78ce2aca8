import { withoutParts } from '../kernel/shrink.ts';
import type { SimulatorModule } from '../kernel/simulation.ts';
import { type Chosen, chosenOf, playHistory } from './history.ts';
import { loadServer } from './load-server.ts';
import { DATABASE, removeSources } from './postgres-base.ts';

/** Plays histories of the server. */
export const load = (async (patches) => {
  const server = await loadServer(patches, DATABASE in process.env);
  return {
    scenarioOf: (seed, _, keep) => chosenOf(server, seed, keep),
    play: (chosen) => playHistory(server, chosen),
    *smaller({ seed, keep }) {
      for (const fewer of withoutParts(keep)) yield { seed, keep: fewer };
    },
    shown: () => undefined,
    again: ({ keep }) => ` --keep ${keep.join(',') || 'none'}`,
    close: removeSources,
  };
}) satisfies SimulatorModule<Chosen>['load'];
