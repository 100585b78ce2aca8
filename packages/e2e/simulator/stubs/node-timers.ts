/** Stands in for `node:timers` and `node:timers/promises` in the server: the next turn of the event loop is an event of now. */
import { theWorld } from '../world/world.ts';

function nextTurn(run: () => void): void {
  const { clock } = theWorld();
  clock.after(0, clock.current, run);
}

/** With a callback as `node:timers` has it, without one as `node:timers/promises` does. */
export function setImmediate(run?: () => void): Promise<void> | undefined {
  if (run === undefined) return new Promise((resolve) => nextTurn(resolve));
  nextTurn(run);
  return undefined;
}
