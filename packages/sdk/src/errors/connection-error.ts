import { hasMarker } from './has-marker.ts';
import { ShortlinkError } from './shortlink-error.ts';

const marker = Symbol.for('@shortlink/sdk/ConnectionError');

/**
 * What is known of a request that got no answer: `not-sent` means that the service never saw it; `unknown` means that
 * it may have been carried out.
 */
export type Outcome = 'not-sent' | 'unknown';

/**
 * No answer: refused, name not found, certificate not trusted (`outcome: 'not-sent'`), or the connection was lost
 * after sending (`outcome: 'unknown'`). Browsers don't tell the two apart, so there it is always `unknown`.
 */
export class ConnectionError extends ShortlinkError {
  override readonly name: string = 'ConnectionError';

  /** Whether the service may have carried the request out. */
  readonly outcome: Outcome;

  constructor(message: string, options: { outcome: Outcome; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.outcome = options.outcome;
  }

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is ConnectionError {
    return hasMarker(error, marker);
  }
}
