import * as f from './lenient.ts';
import type { LinkInput } from './link.ts';

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
export interface BatchResultItem {
  /** Destination URL. @default '' where the service doesn't repeat it */
  target_url: string;
  /** Short code, not empty. Missing where the link was not created. */
  code?: string | undefined;
  /** Absolute short URL, not empty. Missing where the link was not created. */
  short_url?: string | undefined;
  /** Why this item failed; absent, `null` or empty when it was created. Not every service sends it. */
  error?: string | null | undefined;
}

/** Why an item failed. Some services send an object or a list of reasons instead of a string, or `false`, 0 or an empty list for none. */
function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return error === 0 ? '' : f.text(error);
  if (Object.keys(error).length === 0) return '';
  try {
    return f.text(f.isObject(error) ? error['message'] : '') || JSON.stringify(error);
  } catch {
    // It is nested too deep to be written.
    return 'unreadable';
  }
}

const readResult = f.object<BatchResultItem>({
  target_url: f.text,
  code: f.optionalText,
  short_url: f.optionalText,
  error: (value) => reasonOf(value) || undefined,
});

/**
 * A list of results. Each item is read by itself, so an odd one takes nothing from the others: what can't be read of it is
 * left out. A list of thousands that is as documented is returned as it is, since to copy it costs as much as to parse
 * its JSON.
 */
export function readResults(value: unknown): BatchResultItem[] {
  if (!Array.isArray(value)) return [];
  return value.every(isResultItem) ? value : value.map(readResult);
}

function isResultItem(item: unknown): item is BatchResultItem {
  if (typeof item !== 'object' || item === null) return false;
  const { target_url, code, short_url, error }: { [Name in keyof BatchResultItem]?: unknown } =
    item;
  return (
    typeof target_url === 'string' &&
    isOptionalText(code) &&
    isOptionalText(short_url) &&
    (error === null || error === '' || isOptionalText(error))
  );
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value !== '');
}

/** A batch that was carried out at once. */
export interface CompletedBatch {
  status: 'completed';
  /** Number of links submitted. @default the length of `results` */
  total: number;
  /** One item per link, in the order they were sent. */
  results: BatchResultItem[];
}

/** A batch accepted as a job: poll it with `jobs.wait(job_id)`. */
export interface ProcessingBatch {
  /** Always `processing`, whatever word the service has for it, such as `queued`. */
  status: 'processing';
  /** Identifier of the job to poll. A number becomes a string. */
  job_id: string;
  /** Number of links submitted. @default the number of links that were sent */
  total: number;
}

/** Response to a batch. Compare `status` to tell the two apart. */
export type BatchResponse = CompletedBatch | ProcessingBatch;

/** 200: the batch was small enough to be carried out at once. */
const completed = f.object<CompletedBatch>({
  status: f.word('completed'),
  total: f.count,
  results: readResults,
});

/** 202: the batch became a job. */
const processing = f.object<ProcessingBatch>({
  status: f.word('processing'),
  job_id: f.text,
  total: f.count,
});

/**
 * Reads the response to a batch. It must have `results` or a `job_id`; with both, the batch is a job unless the service
 * says that it is done, by a status other than 202 and the word `completed` or none. Whatever word the service has,
 * `status` becomes `processing` for a job and `completed` for results.
 */
export function readBatch(value: unknown, httpStatus: number): f.Read<BatchResponse> {
  if (!f.isObject(value)) return { missing: '' };
  const { results: items, status = 'completed' } = value;
  const isJob = f.text(value['job_id']) !== '';
  const isDone = !isJob || (httpStatus !== 202 && status === 'completed');
  if (Array.isArray(items) && isDone) {
    const total = f.numberOf(value['total'], items.length);
    return { data: completed({ ...value, total }) };
  }
  return isJob ? { data: processing(value) } : { missing: 'results and no job_id' };
}
