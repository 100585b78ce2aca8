import type { PlayerModule } from '../simulation.ts';
import { playHistory } from './history.ts';
import { loadServer } from './load-server.ts';
import { DATABASE } from './postgres-base.ts';

/** Plays histories of the server. */
export const load: PlayerModule['load'] = async (patches) => {
  const server = await loadServer(patches, DATABASE in process.env);
  return async (seed) => {
    const { violation: failure, requests: amount } = await playHistory(server, seed);
    return { failure, amount, shares: {} };
  };
};
