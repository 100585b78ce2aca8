import { isMainThread } from 'node:worker_threads';

/** Sets the clock of a process that has loaded this module. */
export interface ClockMessage {
  /** Milliseconds since the epoch. */
  now: number;
  /** Whether time goes on from there. Otherwise the clock stands still, so that no window ends, however slow the machine is. */
  runs: boolean;
}

// Node loads this before a program that knows nothing of it: `node --import movable-clock.ts program.js`.
if (isMainThread) {
  let clock = Date.now;
  // Replaced once, before the program takes the function along.
  Date.now = () => clock();
  process.on('message', ({ now, runs }: ClockMessage) => {
    const setAt = performance.now();
    clock = () => (runs ? Math.floor(now + performance.now() - setAt) : now);
    process.send?.('set');
  });
  // The program ends when its own work does.
  process.channel?.unref();
}
