import type { LinkInput } from './link.ts';
import { type Data, number, optional, type Read, type ResponseBody, reader } from './shape.ts';

/** Links to create in one request. */
export interface BatchInput {
  /** Default domain for all links of the request; an entry's own `domain_id` wins. */
  domain_id?: string | null | undefined;
  /** The links to create: 1 to 10,000. */
  links: readonly LinkInput[];
}

/**
 * One entry of `results`, in the order of `links`. The documented service sends `target_url`, `code` and `short_url`; some
 * services send `error` as well, and then `code` and `short_url` may be missing from a failed item. A null counts as a field
 * that was not sent.
 */
export interface BatchResultItem extends Data<typeof batchResultItem> {}
export const batchResultItem = {
  /** Destination URL. @default '' where the service doesn't repeat it */
  target_url: '',
  /** Short code, not empty. Missing where the link was not created. */
  code: optional(''),
  /** Absolute short URL, not empty. Missing where the link was not created. */
  short_url: optional(''),
  /** Why this item failed; absent, `null` or empty when it was created. Not every service sends it. */
  error: undefined as string | null | undefined,
};

/** The results of a batch or a job. */
export const results = [batchResultItem] as BatchResultItem[];

/** A batch accepted as a job: poll it with `jobs.wait(job_id)`. */
export interface ProcessingBatch extends Data<typeof processingBatch> {}
export const processingBatch = {
  /** Always `processing`, whatever word the service has for it, such as `queued`. */
  status: 'processing' as const,
  /** Identifier of the job to poll. A number becomes a string. */
  job_id: '',
  /** Number of links submitted. @default the number of links that were sent */
  total: 0,
};

/** A batch that was carried out at once. */
export interface CompletedBatch extends Data<typeof completedBatch> {}
export const completedBatch = {
  status: 'completed' as const,
  /** Number of links submitted. @default the length of `results` */
  total: 0,
  /** One item per link, in the order they were sent. */
  results,
};

/** Response to a batch. Compare `status` to tell the two apart. */
export type BatchResponse = CompletedBatch | ProcessingBatch;

const readCompleted = reader<CompletedBatch>(completedBatch);
const readProcessing = reader<ProcessingBatch>(processingBatch);

/**
 * Reads the response to a batch. It must have `results` or a `job_id`; with both, the batch is a job unless the service
 * says that it is done, by a status other than 202 and the word `completed` or none.
 */
export function readBatch(value: ResponseBody, httpStatus: number): Read<BatchResponse> {
  const job = readProcessing(value);
  const isJob = job.job_id !== '';
  const { results, status } = value;
  const isDone = !isJob || (httpStatus !== 202 && (status ?? 'completed') === 'completed');
  if (Array.isArray(results) && isDone) {
    const data = readCompleted(value);
    return { data: { ...data, total: data.total || results.length } };
  }
  return isJob ? { data: job } : { missing: 'results and no job_id' };
}

/**
 * A batch job. Where a service leaves a field out, or sends null or another type, the client fills in its default.
 * Fields that are not named here pass through.
 */
export interface Job extends Data<typeof job> {}
export const job = {
  /** Identifier of the job: the `job_id` of the batch. @default the id that was asked for */
  id: '',
  /** `processing` or `completed`; a service may have other words. @default 'processing' */
  status: '' as 'processing' | 'completed' | (string & {}),
  /** Number of links submitted. @default 0 */
  total: 0,
  /** Number of links processed so far. @default the length of `results` */
  processed: 0,
  /** Items done so far, in the order they were sent. @default [] */
  results,
};

/** Statuses of a job that the service documents. */
export const JOB_STATUSES = ['processing', 'completed'] as const;

/** Statuses that end a job without completing it. The service documents none; other services use these words. */
export const JOB_FAILURE_STATUSES: readonly string[] = [
  'failed',
  'cancelled',
  'canceled',
  'error',
  'expired',
];

const readJobFields = reader<Job>(job);

/** Reads the response to a poll. No field is required, see {@link Job}. */
export function readJob(value: ResponseBody): Read<Job> {
  const data = readJobFields(value);
  const processed = number(value['processed'], data.results.length);
  return { data: { ...data, status: data.status || 'processing', processed } };
}
