/** Follows the attempts of one request, for a caller that keeps a journal of what it sends. */
export interface AttemptWatch {
  /**
   * An attempt is about to be written: all waits for limits are over. It is awaited. Whoever wants the request not to be
   * written after all aborts its signal here.
   */
  beforeSend(): Promise<void>;

  /** The attempt failed, and no attempt of this call can have been carried out. A wait for the next one may follow. */
  nothingDone(): void;
}
