import type { AttemptWatch } from '../http/request.ts';
import type { BatchResultItem } from '../wire/batch.ts';
import type { LinkInput as BatchLinkInput } from '../wire/link.ts';
import { type Batch, emit, type RunContext } from './run-context.ts';

/**
 * The POSTs of one batch. Reports `sent` right before the first of them is written, and `reduced` before one that leaves out
 * entries. Gives up waits when the run ends: a batch that waits for a rate limit has created nothing, so nothing is lost by
 * not sending it.
 */
export class BatchPost implements AttemptWatch {
  readonly #run: RunContext;
  readonly #batch: Batch<BatchLinkInput>;
  readonly #abort = new AbortController();
  /** What is known of each link, where entries are left out and that was not reported yet. */
  reduced: readonly BatchResultItem[] | undefined;
  #journalled: Promise<boolean> | undefined;
  #mayBeDone = false;

  constructor(run: RunContext, batch: Batch<BatchLinkInput>) {
    this.#run = run;
    this.#batch = batch;
    run.ending.addEventListener('abort', this.#endWait);
    run.signal.addEventListener('abort', this.#end);
    if (run.ending.aborted) this.#end();
  }

  /** Signal of the requests: aborted with the run, or with its soft end while nothing can have been created. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether a request threw because it was aborted, which says nothing about the batch. */
  isAbort(thrown: unknown): boolean {
    return this.signal.aborted && thrown === this.signal.reason;
  }

  /** Whether links may have been created, as far as it was known when the last request ended. */
  get mayBeDone(): boolean {
    return this.#mayBeDone;
  }

  async beforeSend(): Promise<void> {
    this.#journalled ??= emit(this.#run, this.#batch, { type: 'sent' });
    let isJournalled = await this.#journalled;
    if (isJournalled && this.reduced !== undefined) {
      this.#journalled = emit(this.#run, this.#batch, { type: 'reduced', results: this.reduced });
      this.reduced = undefined;
      isJournalled = await this.#journalled;
    }
    // What may have created links is followed to its end, also when it has to be sent again under its key.
    if (isJournalled && (this.#mayBeDone || !this.#run.ending.aborted)) this.#mayBeDone = true;
    else this.#end();
  }

  nothingDone(): void {
    this.#mayBeDone = false;
    if (this.#run.ending.aborted) this.#end();
  }

  /** Removes its listeners, and waits for `onBatch`, so that the next event comes after this one. */
  async close(): Promise<void> {
    this.#run.ending.removeEventListener('abort', this.#endWait);
    this.#run.signal.removeEventListener('abort', this.#end);
    await this.#journalled;
  }

  readonly #endWait = () => {
    if (!this.#mayBeDone) this.#end();
  };

  readonly #end = () => {
    this.#abort.abort(this.#run.signal.reason);
  };
}
