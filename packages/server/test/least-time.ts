/** The least time of a few rounds, which other programs disturb the least, in milliseconds. */
export function leastTime(work: () => unknown): number {
  const rounds = Array.from({ length: 7 }, () => {
    const startedAt = performance.now();
    for (let n = 0; n < 20; n += 1) work();
    return performance.now() - startedAt;
  });
  return Math.min(...rounds);
}
