import * as check from '../check-options.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { AttemptWatch } from '../http/request.ts';
import { DEFAULT_JOB_TIMEOUT_MS, type RequestOptions, type WaitOptions } from '../options.ts';
import type { BatchResponse, BatchResultItem, Job } from '../wire/batch.ts';
import { MAX_BATCH_LINKS } from '../wire/limits.ts';
import type { LinkInput } from '../wire/link.ts';
import { BulkRun } from './bulk-run.ts';

/** Options of `links.createMany`. `timeoutMs` and `maxRetries` apply to each of its batches, `headers` to polls of their jobs, too. */
export interface CreateManyOptions
  extends Pick<RequestOptions, 'timeoutMs' | 'maxRetries' | 'headers'> {
  /** Default domain for every link that has no `domain_id` of its own. */
  domain_id?: string | null | undefined;
  /**
   * Links per batch request, 1 to 10,000. `'auto'` starts with 10,000. A size that the service refuses is replaced by the one it
   * allows, or, when it names none, by 5,000, then 100 (403), or by halves (400, 413). @default 'auto'
   */
  batchSize?: number | 'auto' | undefined;
  /** Batches in flight at once; the first goes alone. At most `concurrency x batchSize` links are in memory. @default 4 */
  concurrency?: number | undefined;
  /**
   * How long a link waits for others to fill its batch, in milliseconds: a source that is slower gives smaller batches. `0`
   * never waits for the source, `Infinity` always until a batch is full. Ranges of `resume` are never cut.
   * @default 1_000; `Infinity` with `idempotencyKey`, because time must not change the range that a key stands for
   */
  maxDelayMs?: number | undefined;
  /**
   * Called at each step of each batch's life, and awaited before the next one: a journal that writes and syncs in `sent` has
   * every request before it is written. A rejection stops the run. After an abort it is awaited for at most a second.
   */
  onBatch?: ((event: BatchEvent) => void | Promise<void>) | undefined;
  /** Called with the response to every poll of an accepted batch's job: that of the earliest such batch, until it is done. */
  onJobProgress?: ((batch: BatchRange, job: Job) => void) | undefined;
  /**
   * The `Idempotency-Key` of each batch, for servers that honour it. The same range must give the same key in every run over
   * the same source. A batch that is sent again without refused entries has a key that is derived from this one and them.
   * @default the client's `idempotency`
   */
  idempotencyKey?: ((batch: BatchRange) => string) | undefined;
  /**
   * What an earlier run over the same source recorded, in any order, without overlaps. `completed`, `failed` and `unknown` batches
   * are yielded as recorded, `accepted` ones are awaited by their job, `planned` ones are sent as exactly the same batch;
   * everything else is sent in batches of this run's size.
   */
  resume?: Iterable<BatchRecord> | undefined;
  /** Ends the run: batches in flight are aborted and reported as `unknown`, those that wait to be sent as `unsent`. */
  signal?: AbortSignal | undefined;
  /** Ends the run softly: no batch is sent, not even one that waits for a limit; those in flight are finished and yielded. */
  stopSignal?: AbortSignal | undefined;
  /**
   * What follows a batch whose outcome is unknown, such as one lost in an outage. `'stop'` finishes and yields what is in flight,
   * then throws the error: links that were not yielded were not sent. `'continue'` sends the others, each of which an outage may
   * leave unknown too. A batch that is only read from `resume` never stops the run, and neither does a job that failed.
   * @default 'stop'; `'continue'` with `idempotencyKey`, because a later run can send the batch again
   */
  onUnknown?: 'stop' | 'continue' | undefined;
  /** Longest wait for one batch's job, in milliseconds from when it was accepted on. `0` is no limit. @default 3_600_000 */
  jobTimeoutMs?: number | undefined;
}

/**
 * A source of links: any iterable, sync or async. As in `for await`, an async one may return a result at once where it has one:
 * to wait for a promise takes longer than most sources need for a link.
 */
export type BulkSource<T> = Iterable<T> | { [Symbol.asyncIterator](): BulkIterator<T> };

type AtOnce<T> = T | PromiseLike<T>;

export interface BulkIterator<T> {
  next(): AtOnce<IteratorResult<T, unknown>>;
  /** A generator's has a parameter for what it returns. It is called without. */
  return?(...value: never[]): AtOnce<unknown>;
}

/** A range of links in the source: `count` links, the first one at position `first` (from 0). */
export interface BatchRange {
  first: number;
  count: number;
}

/**
 * One step in a batch's life:
 * - `planned`: its links were read and its request is sent next.
 * - `sent`: all waits for limits are over and the request is about to be written. Reported once more before an attempt that follows one
 *   of which the service says that it has done nothing, such as 429.
 * - `reduced`: entries were refused, as `results` say, and nothing created. The request without them is about to be written.
 * - `accepted`: the service made it a job.
 *
 * Then one of these:
 * - `completed`: `results` has an item for each link. One with `error` and without `code` is a refused entry.
 * - `failed`: nothing was created; `error` says why. `results` has an `error` for each entry with a reason of its own.
 * - `unknown`: it can't be known what was created. `results` has what is known: `error` of refused entries, and `code` of links
 *   that a job created before it failed. A link without both is unknown.
 * - `resized`: nothing was created: the size or an entry was refused, or the plan is nearly full. Smaller batches follow.
 * - `unsent`: nothing was created and the run ends with `error`, such as a plan limit. Its links are left for a later run.
 */
export type BatchEvent = BatchRange & BatchStep;

export type BatchStep =
  | { type: 'planned' }
  | { type: 'sent' }
  | { type: 'reduced'; results: readonly BatchResultItem[] }
  | { type: 'accepted'; job_id: string }
  | { type: 'completed'; results: readonly BatchResultItem[]; job_id?: string | undefined }
  | { type: 'failed'; error: ShortlinkError; results: readonly BatchResultItem[] }
  | {
      type: 'unknown';
      error: ShortlinkError;
      results: readonly BatchResultItem[];
      job_id?: string | undefined;
    }
  | { type: 'resized'; error: ShortlinkError }
  | { type: 'unsent'; error: ShortlinkError };

/** What a journal kept of a batch. `results` is a function so that it can be read from disk when its turn comes. */
export type BatchRecord = BatchRange &
  (
    | { state: 'completed'; results: RecordedResults }
    | { state: 'accepted'; job_id: string }
    /**
     * Sent again as one batch of this very range: safe where nothing was sent, or with an `idempotencyKey`. Keep the record of one that
     * was sent before when this run ends with `unsent`, which only says that this run has created nothing.
     */
    | { state: 'planned' }
    | { state: 'failed'; error: string; results?: RecordedResults | undefined }
    | { state: 'unknown'; error: string; results?: RecordedResults | undefined }
  );

/** Reads the results of one batch from a journal. */
export type RecordedResults = () => readonly RecordedResult[] | Promise<readonly RecordedResult[]>;

/** A result as a journal kept it. `target_url` may be left out: the source still has it, and it is most of the bytes. */
export type RecordedResult = Omit<BatchResultItem, 'target_url'> &
  Partial<Pick<BatchResultItem, 'target_url'>>;

/** The outcome of one link of the source. Yielded in the order of the source. */
export type BulkItem<T extends LinkInput = LinkInput> = {
  /** Position in the source, from 0. */
  index: number;
  /** The link as the source gave it. */
  input: T;
} & (
  | { outcome: 'created'; code: string; short_url: string }
  /** Certainly not created. */
  | { outcome: 'failed'; error: string; cause?: ShortlinkError | undefined }
  /** It may or may not exist: the connection was lost after sending, or its job could not be followed. */
  | { outcome: 'unknown'; error: string; cause?: ShortlinkError | undefined }
);

/** The requests of a bulk run. */
export interface CreateManyDeps {
  /** Sends a batch of `count` links. */
  postBatch(
    batch: { json: string; count: number },
    options: RequestOptions,
    watch: AttemptWatch,
  ): Promise<BatchResponse>;
  waitForJob(jobId: string, options: WaitOptions): Promise<Job>;
}

/** Names of the options, to refuse others. A test compares them with the type. */
export const BULK_OPTIONS =
  'batchSize concurrency domain_id headers idempotencyKey jobTimeoutMs maxDelayMs maxRetries onBatch onJobProgress onUnknown resume signal stopSignal timeoutMs';

const RECORD_STATES: readonly string[] = ['completed', 'accepted', 'planned', 'failed', 'unknown'];

/**
 * Checks what `links.createMany` is given, and fills in defaults. Nothing is read or sent before the first `next()`.
 *
 * @throws InvalidOptionError
 */
export function createMany<T extends LinkInput>(
  deps: CreateManyDeps,
  source: BulkSource<T>,
  asGiven?: CreateManyOptions,
): AsyncGenerator<BulkItem<T>, void, undefined> {
  const options = check.given(asGiven, BULK_OPTIONS);
  check.iterable('source', source);
  return new BulkRun(deps, source, fillIn(options)).items();
}

/** The options of a run, every default filled in. */
export type RunOptions = ReturnType<typeof fillIn>;

function fillIn(options: check.Given<CreateManyOptions>) {
  const hasOwnKeys = options.idempotencyKey !== undefined;
  const { batchSize = 'auto', resume = [] } = options;
  return {
    concurrency: 4,
    jobTimeoutMs: DEFAULT_JOB_TIMEOUT_MS,
    maxDelayMs: hasOwnKeys ? Number.POSITIVE_INFINITY : 1_000,
    onUnknown: hasOwnKeys ? 'continue' : 'stop',
    ...options,
    batchSize: batchSize === 'auto' ? MAX_BATCH_LINKS : batchSize,
    resume: checkRecords(resume),
  };
}

/** What an earlier run recorded, in the order of the source. */
function checkRecords(resume: Iterable<BatchRecord>): readonly BatchRecord[] {
  const records = Array.from(resume, (record): BatchRecord => Object(record));
  records.sort((a, b) => a.first - b.first);
  let end = 0;
  for (const { first, count, state } of records) {
    const isRange = Number.isInteger(first) && first >= 0 && Number.isInteger(count) && count > 0;
    const problem =
      isRange && RECORD_STATES.includes(state)
        ? first < end && `free of overlaps; two batches hold link ${first}`
        : `a list of batches; one has first ${first} and count ${count} and state ${state}`;
    if (problem) check.refuse('resume', problem);
    end = first + count;
  }
  return records;
}
