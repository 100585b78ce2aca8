import { hasMarker } from './has-marker.ts';
import { ShortlinkError } from './shortlink-error.ts';

const marker = Symbol.for('@shortlink/sdk/InvalidOptionError');

/** An option of the client or of a call has a value that can't be used. Thrown before anything is sent. */
export class InvalidOptionError extends ShortlinkError {
  override readonly name: string = 'InvalidOptionError';

  /** Name of the option, such as `maxRetries`. */
  readonly option: string;

  /** `expected` ends the sentence "`option` must be …"; it must not contain a secret value. */
  constructor(option: string, expected: string) {
    super(`${option} must be ${expected}`);
    this.option = option;
  }

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is InvalidOptionError {
    return hasMarker(error, marker);
  }
}
