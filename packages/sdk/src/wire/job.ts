import * as z from 'zod/mini';
import { areResultItems, type BatchResultItem, batchResultItemSchema } from './batch.ts';

/** Answer of `GET /api/v1/jobs/<job_id>` (spec, "poll a batch job"). `status` stays open: the spec lists what was seen, not all. */
export const jobSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  total: z.number(),
  processed: z.number(),
  results: z.array(batchResultItemSchema),
});

/** A batch job (spec, "Batch job"). */
export interface Job {
  /** Identifier of the job: the `job_id` of the batch answer. */
  id: string;
  /** `processing` or `completed`; a newer service may send others. */
  status: 'processing' | 'completed' | (string & {});
  /** Number of links submitted. */
  total: number;
  /** Number of links processed so far. */
  processed: number;
  /** Items done so far, in the order they were sent. */
  results: BatchResultItem[];
}

/** {@link jobSchema} for the answers to polls, quicker where all is well. */
export const jobAnswerSchema = {
  safeParse(value: unknown) {
    return isJob(value) ? { success: true as const, data: value } : jobSchema.safeParse(value);
  },
};

function isJob(value: unknown): value is Job {
  if (typeof value !== 'object' || value === null) return false;
  const { id, status, total, processed, results }: { [Field in keyof Job]?: unknown } = value;
  return (
    typeof id === 'string' &&
    typeof status === 'string' &&
    Number.isFinite(total) &&
    Number.isFinite(processed) &&
    areResultItems(results)
  );
}
