import { ConnectionError } from '../errors/connection-error.ts';
import { TimeoutError } from '../errors/timeout-error.ts';
import { backoffMs } from './backoff.ts';
import type { TransportParts } from './transport.ts';
import { within } from './within.ts';

/** Limits of a load: those of a request. */
export interface LoadLimits {
  signal: AbortSignal | undefined;
  /** Longest time of one attempt, in milliseconds; 0 is no limit. */
  timeoutMs: number;
  maxRetries: number;
}

/**
 * Loads a part of the client that a program does without at its start. In a page that takes a request, which fails as any
 * other does, so it is repeated like one.
 *
 * @throws ConnectionError or TimeoutError, both with `outcome: 'not-sent'`; the signal's reason when it is aborted
 */
export async function loadPart<T>(
  part: () => Promise<T>,
  { signal, timeoutMs, maxRetries }: LoadLimits,
  { clock, random }: TransportParts,
): Promise<T> {
  const timeoutError = () =>
    new TimeoutError(`The client was not loaded within ${timeoutMs} ms`, {
      outcome: 'not-sent',
      timeoutMs,
    });
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await within({ signal, timeoutMs, timeoutError }, part);
    } catch (error) {
      signal?.throwIfAborted();
      if (attempt > maxRetries) {
        if (TimeoutError.isInstance(error)) throw error;
        const message = `A part of the client could not be loaded: ${String(error)}`;
        throw new ConnectionError(message, { outcome: 'not-sent', cause: error });
      }
      await clock.delay(backoffMs(attempt, random), signal);
    }
  }
}
