import type { CreateManyDeps } from '../src/bulk/create-many.ts';
import { BadRequestError, createApiError } from '../src/errors/api-errors.ts';
import type { ShortlinkError } from '../src/errors/shortlink-error.ts';
import type { AttemptWatch } from '../src/http/request.ts';
import type { RequestOptions, WaitOptions } from '../src/options.ts';
import type { BatchResponse, BatchResultItem, Job } from '../src/wire/batch.ts';
import type { ErrorBody } from '../src/wire/error-body.ts';
import { MAX_SYNC_BATCH_LINKS } from '../src/wire/limits.ts';
import type { CreateLinkBody } from '../src/wire/link.ts';

/** Body of a batch, as it was sent. */
interface CreateBatchBody {
  domain_id?: string;
  links: CreateLinkBody[];
}

/** Decides about the n-th request (from 0): resolves to let it through, throws to refuse it. */
export type Gate = (n: number, links: readonly CreateLinkBody[]) => void | Promise<void>;

/**
 * For tests only: a service in memory that creates links, counts what it was asked for, and whose gates can hold or
 * refuse any request before it is carried out (`onBatch`), after it (`afterBatch`), or while its job runs (`onJob`).
 *
 * It is not the scripted service (`./scripted-service/`), since it stands in for the SDK's own calls, above HTTP: its gates throw the
 * errors that these throw, and hold a request before it is written.
 */
export class FakeService implements CreateManyDeps {
  onBatch: Gate = () => undefined;
  /** Holds the n-th request (from 0) before it is written, as a rate limit does. */
  onWait: (n: number) => void | Promise<void> = () => undefined;
  afterBatch: Gate = () => undefined;
  onJob: (jobId: string, options: WaitOptions) => void | Promise<void> = () => undefined;
  /** What the results of a batch look like. */
  change = (results: BatchResultItem[]): BatchResultItem[] => results;
  /** Batches above it are answered with a job. */
  syncLinks = MAX_SYNC_BATCH_LINKS;

  /** Sizes of the batches asked for, refused ones too. */
  readonly asked: number[] = [];
  /** Times each target URL was carried out. */
  readonly created = new Map<string, number>();
  readonly requestOptions: RequestOptions[] = [];
  readonly bodies: CreateBatchBody[] = [];
  readonly waits: WaitOptions[] = [];
  readonly jobs = new Map<string, BatchResultItem[]>();
  waiting = 0;
  posting = 0;
  mostPosting = 0;

  readonly postBatch = async (
    { json, count }: { json: string; count: number },
    options: RequestOptions,
    watch: AttemptWatch,
  ): Promise<BatchResponse> => {
    const body: CreateBatchBody = JSON.parse(json);
    if (body.links.length !== count) throw new Error(`${body.links.length} links, not ${count}`);
    await abortable(this.onWait(this.waiting++), options.signal);
    await watch.beforeSend();
    options.signal?.throwIfAborted();
    const n = this.asked.length;
    this.asked.push(body.links.length);
    this.requestOptions.push(options);
    this.bodies.push(body);
    this.posting += 1;
    this.mostPosting = Math.max(this.mostPosting, this.posting);
    try {
      await abortable(this.onBatch(n, body.links), options.signal);
      const results = this.change(body.links.map((link) => this.#create(link)));
      await abortable(this.afterBatch(n, body.links), options.signal);
      const total = body.links.length;
      if (total <= this.syncLinks) return { status: 'completed', total, results };
      const job_id = `job-${n}`;
      this.jobs.set(job_id, results);
      return { status: 'processing', job_id, total };
    } finally {
      this.posting -= 1;
    }
  };

  readonly waitForJob = async (jobId: string, options: WaitOptions): Promise<Job> => {
    this.waits.push(options);
    await abortable(this.onJob(jobId, options), options.signal);
    return this.job(jobId);
  };

  job(jobId: string): Job {
    const results = this.jobs.get(jobId);
    if (results === undefined) throw apiError(404, { error: 'no such job' });
    return {
      id: jobId,
      status: 'completed',
      total: results.length,
      processed: results.length,
      results,
    };
  }

  #create({ target_url }: CreateLinkBody): BatchResultItem {
    this.created.set(target_url, (this.created.get(target_url) ?? 0) + 1);
    const code = codeOf(target_url);
    return { target_url, code, short_url: `https://s.example/${code}` };
  }
}

/** The code the fake gives a URL, so that a test can tell whose it is. */
export function codeOf(target_url: string): string {
  return target_url.replaceAll(/\W/g, '');
}

/** `count` links to different places. */
export function links(count: number, from = 0): CreateLinkBody[] {
  return Array.from({ length: count }, (_, i) => ({
    target_url: `https://example.com/${from + i}`,
  }));
}

export function apiError(status: number, body: ErrorBody): ShortlinkError {
  return createApiError({ message: body.error, status, body, headers: new Headers() });
}

export function planLimit(body: Partial<ErrorBody> = {}): ShortlinkError {
  return apiError(403, { error: 'plan limit reached, upgrade', upgrade: true, ...body });
}

export function badRequest(details?: ErrorBody['details']): BadRequestError {
  const error = apiError(400, { error: 'links[1]: bad', details });
  if (!(error instanceof BadRequestError)) throw new Error('400 is a BadRequestError');
  return error;
}

/** A promise and the functions that settle it. */
export function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((r) => {
    resolve = r;
  });
  return { promise, resolve };
}

/** Like the transport: an abort rejects at once with the signal's reason. */
function abortable(work: void | Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    // First, so that work which fails after the abort is no unhandled rejection.
    const settled = Promise.resolve(work);
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    settled.then(resolve, reject);
  });
}
