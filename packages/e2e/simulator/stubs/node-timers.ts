/** Stands in for `node:timers` and `node:timers/promises`: waits are events of the simulation, in virtual time. */
import { theWorld } from '../world/world.ts';

function nextTurn(run: () => void): void {
  const { clock } = theWorld();
  clock.after(0, clock.current, run);
}

/** As `node:timers/promises` has it. */
export function setTimeout(ms: number): Promise<void> {
  const { clock } = theWorld();
  return new Promise((resolve) => clock.after(ms, clock.current, () => resolve()));
}

/** With a callback as `node:timers` has it, without one as `node:timers/promises` does. */
export function setImmediate(run?: () => void): Promise<void> | undefined {
  if (run === undefined) return new Promise((resolve) => nextTurn(resolve));
  nextTurn(run);
  return undefined;
}
