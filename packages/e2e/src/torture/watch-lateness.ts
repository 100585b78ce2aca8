const EVERY_MS = 5;

/**
 * Measures how late this process gets its turn: on a machine with more to do than it can, the server beside it is as late with
 * everything, the writing of clicks included. `stop` answers the longest delay in milliseconds.
 */
export function watchLateness(): { stop: () => number } {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - EVERY_MS);
    last = now;
  }, EVERY_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return Math.max(longest, performance.now() - last - EVERY_MS);
    },
  };
}
