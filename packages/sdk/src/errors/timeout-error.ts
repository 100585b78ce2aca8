import type { Outcome } from './connection-error.ts';
import { hasMarker } from './has-marker.ts';
import { ShortlinkError } from './shortlink-error.ts';

const marker = Symbol.for('@shortlink/sdk/TimeoutError');

/** An attempt took longer than `timeoutMs`, or the whole call longer than `totalTimeoutMs`. */
export class TimeoutError extends ShortlinkError {
  override readonly name: string = 'TimeoutError';

  /** Whether the service may have carried the request out. `not-sent` only when time ran out during a wait. */
  readonly outcome: Outcome;

  /** The limit that was passed, in milliseconds. */
  readonly timeoutMs: number;

  constructor(message: string, options: { outcome: Outcome; timeoutMs: number; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.outcome = options.outcome;
    this.timeoutMs = options.timeoutMs;
  }

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is TimeoutError {
    return hasMarker(error, marker);
  }
}
