import * as z from 'zod/mini';
import { fieldsOf, number, optionalText, type Read, text } from './lenient.ts';
import type { LinkInput } from './link.ts';

/** Links to create in one request. */
export interface BatchInput {
  /** Default domain for all links of the request; an entry's own `domain_id` wins. */
  domain_id?: string | null | undefined;
  /** The links to create: 1 to 10,000. */
  links: readonly LinkInput[];
}

/**
 * One entry of `results`. The documented service sends `target_url`, `code` and `short_url`; some services send `error`
 * as well, and then `code` and `short_url` may be missing from a failed item.
 */
export const batchResultItemSchema = z.looseObject({
  target_url: z.string(),
  code: z.optional(z.string()),
  short_url: z.optional(z.string()),
  error: z.optional(z.nullable(z.string())),
});

/** One entry of `results`, in the order of `links`. A null counts as a field that was not sent. */
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

/**
 * Reads `results`. Each item is read by itself, so an odd one takes nothing from the others: what can't be read of it is
 * left out. A list of thousands that is as documented is returned as it is, since to copy it costs as much as to parse
 * its JSON.
 */
export function readResults(value: unknown): BatchResultItem[] {
  if (!Array.isArray(value)) return [];
  return value.every(isResultItem) ? value : value.map(readResultItem);
}

function isResultItem(item: unknown): item is BatchResultItem {
  if (typeof item !== 'object' || item === null) return false;
  const { target_url, code, short_url, error }: Fields = item;
  return (
    typeof target_url === 'string' &&
    isOptionalText(code) &&
    isOptionalText(short_url) &&
    (error === null || error === '' || isOptionalText(error))
  );
}

type Fields = { readonly [Field in keyof BatchResultItem]?: unknown };

function isOptionalText(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value !== '');
}

function readResultItem(item: unknown): BatchResultItem {
  if (typeof item !== 'object' || item === null) return { target_url: '' };
  const { target_url, code, short_url, error, ...others }: Fields = item;
  return {
    ...others,
    target_url: text(target_url),
    code: optionalText(code),
    short_url: optionalText(short_url),
    error: readReason(error) || undefined,
  };
}

/** Why an item failed. Some services send an object or a list of reasons instead of a string, or `false`, 0 or an empty list for none. */
function readReason(error: unknown): string {
  if (typeof error !== 'object' || error === null) return error === 0 ? '' : text(error);
  if (Object.keys(error).length === 0) return '';
  try {
    return text(fieldsOf(error)?.['message']) || JSON.stringify(error);
  } catch {
    // It is nested too deep to be written.
    return 'unreadable';
  }
}

/** 200: the batch was small enough to be carried out at once. */
export const completedBatchSchema = z.looseObject({
  status: z.literal('completed'),
  total: z.number(),
  results: z.array(batchResultItemSchema),
});

/** 202: the batch became a job. */
export const processingBatchSchema = z.looseObject({
  status: z.literal('processing'),
  job_id: z.string(),
  total: z.number(),
});

/**
 * Reads the response to a batch. It must have `results` or a `job_id`; with both, the batch is a job unless the service
 * says that it is done, by a status other than 202 and the word `completed` or none. Whatever word the service has,
 * `status` becomes `processing` for a job and `completed` for results.
 */
export function readBatch(value: unknown, httpStatus: number): Read<BatchResponse> {
  const fields = fieldsOf(value);
  if (fields === undefined) return { missing: '' };
  const { results, status = 'completed' } = fields;
  const job_id = text(fields['job_id']);
  const isDone = job_id === '' || (httpStatus !== 202 && status === 'completed');
  if (Array.isArray(results) && isDone) {
    const total = number(fields['total'], results.length);
    return { data: { ...fields, status: 'completed', total, results: readResults(results) } };
  }
  if (job_id === '') return { missing: 'results and no job_id' };
  return { data: { ...fields, status: 'processing', job_id, total: number(fields['total'], 0) } };
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
