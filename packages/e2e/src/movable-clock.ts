import { isMainThread } from 'node:worker_threads';

/** Sets the clock of a process that has loaded this module. */
export interface ClockMessage {
  /** Milliseconds since the epoch. */
  now: number;
  /** Whether the clock runs from there. Otherwise it stands still, so that no window ends, however slow the machine is. */
  runs: boolean;
}

// Node loads this module before an unchanged program: `node --import movable-clock.ts program.js`.
if (isMainThread) {
  let clock = Date.now;
  // Replaced once, before the program can keep a reference to the original function.
  Date.now = () => clock();
  process.on('message', ({ now, runs }: ClockMessage) => {
    const setAt = performance.now();
    clock = () => (runs ? Math.floor(now + performance.now() - setAt) : now);
    process.send?.('set');
  });
  // This channel must not keep the program running.
  process.channel?.unref();
}
