import * as z from 'zod/mini';
import type { CreateLinkBody } from './link.ts';

/** One entry of a batch (spec, "create many links"); `redirect_type` is an addition (DESIGN section 2). */
export type BatchLinkInput = CreateLinkBody;

/** Body of `POST /api/v1/links/batch` (spec, "create many links"). */
export interface CreateBatchBody {
  /** Default domain for all links of the request; an entry's own `domain_id` wins. */
  domain_id?: string | undefined;
  /** The links to create: 1 to 10,000. */
  links: readonly BatchLinkInput[];
}

/**
 * One created link in `results` (spec, "Batch result item"). `error` is not in the spec: some deployments send it,
 * empty on success, and then `code` and `short_url` may be missing from a failed item (DESIGN section 3).
 */
export const batchResultItemSchema = z.looseObject({
  target_url: z.string(),
  code: z.optional(z.string()),
  short_url: z.optional(z.string()),
  error: z.optional(z.nullable(z.string())),
});

/** One entry of `results`, in the order of `links`. */
export interface BatchResultItem {
  /** Destination URL, as sent. */
  target_url: string;
  /** Short code. Missing only where the service reports this item's failure in `error`. */
  code?: string | undefined;
  /** Absolute short URL. Missing only where the service reports this item's failure in `error`. */
  short_url?: string | undefined;
  /** Why this item failed; absent, `null` or empty when it was created. Not in the spec; some deployments send it. */
  error?: string | null | undefined;
}

/**
 * Whether a value is what the schema takes, for arrays of thousands of items: a schema copies each of them, and costs as much as
 * parsing the JSON. One that is not goes to the schema, which says what is wrong.
 */
export function areResultItems(value: unknown): value is BatchResultItem[] {
  return Array.isArray(value) && value.every(isResultItem);
}

function isResultItem(item: unknown): item is BatchResultItem {
  if (typeof item !== 'object' || item === null) return false;
  const { target_url, code, short_url, error }: { [Field in keyof BatchResultItem]?: unknown } =
    item;
  return (
    typeof target_url === 'string' &&
    isOptionalString(code) &&
    isOptionalString(short_url) &&
    (error === null || isOptionalString(error))
  );
}

function isOptionalString(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

/** 200: the batch was small enough to be answered at once (spec, 100 links or fewer). */
export const completedBatchSchema = z.looseObject({
  status: z.literal('completed'),
  total: z.number(),
  results: z.array(batchResultItemSchema),
});

/** 202: the batch became a job (spec, more than 100 links). */
export const processingBatchSchema = z.looseObject({
  status: z.literal('processing'),
  job_id: z.string(),
  total: z.number(),
});

/**
 * Both answers of the batch endpoint, told apart by `status`. Not zod's own union of the two: that would be 12% of this
 * entry point's size.
 */
export const batchAnswerSchema = {
  safeParse(value: unknown) {
    const result = processingBatchSchema.safeParse(value);
    const isOther = !result.success && result.error.issues.some(({ path }) => path[0] === 'status');
    return isOther ? completedBatchSchema.safeParse(value) : result;
  },
};

/** A batch answered at once: every link is created. */
export interface CompletedBatch {
  status: 'completed';
  /** Number of links created. */
  total: number;
  /** One item per link, in the order they were sent. */
  results: BatchResultItem[];
}

/** A batch accepted as a job: poll it with `jobs.wait(job_id)`. */
export interface ProcessingBatch {
  status: 'processing';
  /** Identifier of the job to poll. */
  job_id: string;
  /** Number of links submitted. */
  total: number;
}

/** Answer of the batch endpoint. Compare `status` to tell the two apart. */
export type BatchAnswer = CompletedBatch | ProcessingBatch;
