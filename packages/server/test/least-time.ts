/** The least time of one of many times, in milliseconds. One that is shorter than a turn on a processor is soon undisturbed by other programs. */
export function leastTime(work: () => unknown, times = 140): number {
  const taken = Array.from({ length: times }, () => {
    const startedAt = performance.now();
    work();
    return performance.now() - startedAt;
  });
  return Math.min(...taken);
}
