import { startTimer } from './delay.ts';

/** What ends a piece of work early. */
export interface Limit {
  /** Ends it with the signal's reason. */
  signal: AbortSignal | undefined;
  /** Ends it with `timeoutError()` after this many milliseconds; 0 is no limit. */
  timeoutMs: number;
  timeoutError: () => Error;
}

/**
 * Runs `work` and rejects at once when its limit is reached, even where the work doesn't listen to the signal it is
 * given. Leaves no timer, and no listener on the outer signal.
 */
export function within<T>(limit: Limit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const { signal, timeoutMs, timeoutError } = limit;
    const end = (reason: unknown) => {
      release();
      reject(reason);
      controller.abort(reason);
    };
    const onAbort = () => end(signal?.reason);
    const cancelTimer =
      timeoutMs > 0 ? startTimer(timeoutMs, () => end(timeoutError())) : undefined;
    const release = () => {
      cancelTimer?.();
      signal?.removeEventListener('abort', onAbort);
    };
    if (signal?.aborted) {
      onAbort();
      return;
    }
    signal?.addEventListener('abort', onAbort, { once: true });
    work(controller.signal).then(
      (value) => {
        release();
        resolve(value);
      },
      (error) => {
        release();
        reject(error);
      },
    );
  });
}
