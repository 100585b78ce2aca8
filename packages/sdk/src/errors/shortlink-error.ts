import { hasMarker } from './has-marker.ts';

const marker = Symbol.for('@shortlink/sdk/ShortlinkError');

/**
 * Base of every error this package makes. The one rejection that is not one of them is an abort: it rejects with the
 * signal's own reason.
 *
 * No error holds the API key: what came from the network is scrubbed when the error is built.
 */
export class ShortlinkError extends Error {
  /** Name of the class, written out, so that it survives minifiers. */
  override readonly name: string = 'ShortlinkError';

  get [marker](): true {
    return true;
  }

  /** Like `instanceof`, and also true for errors of another copy of this package. */
  static isInstance(error: unknown): error is ShortlinkError {
    return hasMarker(error, marker);
  }
}
