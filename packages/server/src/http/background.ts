/**
 * A figure that is read in the background, so that no request waits for it: what was last read, and `initial` before that.
 * Asking for one that is older than `maxAgeMs` starts another reading; while one is going on, no second one is started.
 */
export function inBackground<T>(
  read: () => Promise<T>,
  { initial, maxAgeMs }: { initial: T; maxAgeMs: number },
): () => T {
  let current = initial;
  let readAt = Number.NEGATIVE_INFINITY;
  let isReading = false;
  return () => {
    if (!isReading && performance.now() - readAt >= maxAgeMs) {
      isReading = true;
      read()
        .then(
          (value) => {
            current = value;
          },
          () => undefined,
        )
        .finally(() => {
          isReading = false;
          readAt = performance.now();
        });
    }
    return current;
  };
}
