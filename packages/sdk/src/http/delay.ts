/** Longest wait `setTimeout` can hold: 2^31 - 1 ms, 24.8 days. A longer one fires at once, so it is cut into pieces. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls back after `ms` milliseconds, however long. Returns a function that cancels it. */
export function startTimer(ms: number, callback: () => void): () => void {
  let handle: ReturnType<typeof setTimeout>;
  const start = (left: number) => {
    handle =
      left > MAX_TIMER_MS
        ? setTimeout(() => start(left - MAX_TIMER_MS), MAX_TIMER_MS)
        : setTimeout(callback, left);
  };
  start(ms);
  return () => clearTimeout(handle);
}

/**
 * Resolves after `ms` milliseconds, or rejects with the signal's reason as soon as it is aborted. Leaves no listener
 * on the signal. Whole milliseconds, rounded up: a wait never ends early.
 */
export function delay(ms: number, signal?: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = startTimer(Math.ceil(ms), () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
