/** Time as the client sees it. Globals are read at each call, so that the fake timers of a test framework are seen. */
export const systemClock = {
  /** Milliseconds on a clock that never jumps; only differences mean anything. */
  now: () => performance.now(),
  /** Milliseconds since 1970, to compare with dates in headers. */
  date: () => Date.now(),
  delay,
};
export type Clock = typeof systemClock;

/** Longest wait `setTimeout` can hold: 2^31 - 1 ms, 24.8 days. A longer one fires at once, so it is cut into pieces. */
const MAX_TIMER_MS = 2_147_483_647;

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

/** Resolves after `ms` milliseconds, rounded up: a wait never ends early. Rejects with the signal's reason. */
export function delay(ms: number, signal?: AbortSignal | undefined): Promise<void> {
  const wait = (signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      signal.addEventListener('abort', startTimer(Math.ceil(ms), resolve));
    });
  return within({ signal }, wait);
}

/** Calls back when the signal is aborted, at once where it is already. Returns a function that stops listening. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal?.aborted) callback();
  signal?.addEventListener('abort', callback);
  return () => signal?.removeEventListener('abort', callback);
}

/** What ends a piece of work early. */
export interface Limit {
  /** Ends it with the signal's reason. */
  signal: AbortSignal | undefined;
  /** Ends it with `timeoutError()` after this many milliseconds; 0 is no limit. @default 0 */
  timeoutMs?: number;
  timeoutError?: () => Error;
}

/** Runs `work`, and rejects at once when its limit is reached, even where `work` ignores its signal. */
export function within<T>(limit: Limit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const { signal, timeoutMs = 0, timeoutError } = limit;
    signal?.throwIfAborted();
    const end = (reason: unknown) => {
      release();
      reject(reason);
      controller.abort(reason);
    };
    const unfollow = onAbort(signal, () => end(signal?.reason));
    const cancelTimer =
      timeoutMs > 0 ? startTimer(timeoutMs, () => end(timeoutError?.())) : undefined;
    const release = () => {
      cancelTimer?.();
      unfollow();
    };
    work(controller.signal).finally(release).then(resolve, reject);
  });
}

/** Waits for `work`, but rejects with the signal's reason as soon as it is aborted. Leaves no listener on the signal. */
export function untilAborted<T>(
  signal: AbortSignal | undefined,
  work: T | PromiseLike<T>,
): Promise<T> {
  const settled = Promise.resolve(work);
  // When the signal is aborted already, nothing else handles a rejection.
  settled.catch(() => undefined);
  return within({ signal }, () => settled);
}
