const EVERY_MS = 5;

/**
 * Measures how late timers of this process fire. On an overloaded machine the server's timers are as late, the one that writes
 * clicks included. `stop` returns the longest delay in milliseconds.
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
