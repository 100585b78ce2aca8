import * as f from './lenient.ts';
import type { LinkInput } from './link.ts';

/** Links to create in one request. */
export interface BatchInput {
  /** Default domain for all links of the request; an entry's own `domain_id` wins. */
  domain_id?: string | null | undefined;
  /** The links to create: 1 to 10,000. */
  links: readonly LinkInput[];
}

/** Why an item failed. Some services send an object or a list of reasons instead of a string, or `false`, 0 or an empty list for none. */
const reasonOf: f.Reader<string | null | undefined> = (error) => {
  if (error === null || typeof error === 'string') return error;
  if (typeof error !== 'object') return (error !== 0 && f.text(error)) || undefined;
  if (Object.keys(error).length === 0) return undefined;
  try {
    return (f.isObject(error) && f.text(error['message'])) || JSON.stringify(error);
  } catch {
    // It is nested too deep to be written.
    return 'unreadable';
  }
};

/**
 * One entry of `results`, in the order of `links`. The documented service sends `target_url`, `code` and `short_url`; some
 * services send `error` as well, and then `code` and `short_url` may be missing from a failed item. A null counts as a field
 * that was not sent.
 */
export interface BatchResultItem extends f.Data<typeof batchResultItem> {}
const batchResultItem = {
  /** Destination URL. @default '' where the service doesn't repeat it */
  target_url: f.text,
  /** Short code, not empty. Missing where the link was not created. */
  code: f.optionalText,
  /** Absolute short URL, not empty. Missing where the link was not created. */
  short_url: f.optionalText,
  /** Why this item failed; absent, `null` or empty when it was created. Not every service sends it. */
  error: reasonOf,
};

/** A list of results. Each item is read by itself, so an odd one takes nothing from the others. */
export const readResults = f.rows(f.object<BatchResultItem>(batchResultItem));

/** A batch that was carried out at once. */
export interface CompletedBatch extends f.Data<typeof completedBatch> {}
const completedBatch = {
  status: f.word('completed'),
  /** Number of links submitted. @default the length of `results` */
  total: f.number(0),
  /** One item per link, in the order they were sent. */
  results: readResults,
};

/** A batch accepted as a job: poll it with `jobs.wait(job_id)`. */
export interface ProcessingBatch extends f.Data<typeof processingBatch> {}
const processingBatch = {
  /** Always `processing`, whatever word the service has for it, such as `queued`. */
  status: f.word('processing'),
  /** Identifier of the job to poll. A number becomes a string. */
  job_id: f.text,
  /** Number of links submitted. @default the number of links that were sent */
  total: f.number(0),
};

/** Response to a batch. Compare `status` to tell the two apart. */
export type BatchResponse = CompletedBatch | ProcessingBatch;

const readCompleted = f.object<CompletedBatch>(completedBatch);
const readProcessing = f.object<ProcessingBatch>(processingBatch);

/**
 * Reads the response to a batch. It must have `results` or a `job_id`; with both, the batch is a job unless the service
 * says that it is done, by a status other than 202 and the word `completed` or none.
 */
export function readBatch(value: unknown, httpStatus: number): f.Read<BatchResponse> {
  if (!f.isObject(value)) return { missing: '' };
  const job = readProcessing(value);
  const isJob = job.job_id !== '';
  const { results, total, status = 'completed' } = value;
  const isDone = !isJob || (httpStatus !== 202 && status === 'completed');
  if (Array.isArray(results) && isDone) {
    return { data: readCompleted({ ...value, total: f.number(results.length)(total) }) };
  }
  return isJob ? { data: job } : { missing: 'results and no job_id' };
}
