import { playHistory } from './history.ts';
import type { Server } from './load-server.ts';

/**
 * Leaves out actions of a history for as long as something is still wrong in it: first halves, then ever smaller parts.
 *
 * @param count - how many actions the history has
 * @returns the numbers of the actions that are needed
 */
export async function shrink(server: Server, seed: number, count: number): Promise<number[]> {
  let kept = Array.from({ length: count }, (_, index) => index);
  for (let part = Math.ceil(count / 2); part >= 1; part = part === 1 ? 0 : Math.ceil(part / 2)) {
    for (let start = 0; start < kept.length; ) {
      const fewer = kept.filter((_, index) => index < start || index >= start + part);
      const { violation } = await playHistory(server, seed, new Set(fewer));
      if (violation === undefined) start += part;
      else kept = fewer;
    }
  }
  return kept;
}
