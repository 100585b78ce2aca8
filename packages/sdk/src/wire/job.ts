import * as z from 'zod/mini';
import { type BatchResultItem, batchResultItemSchema, readResults } from './batch.ts';
import { count, fieldsOf, number, type Read, readFields, text } from './lenient.ts';

/** Statuses of a job that the service documents. */
export const JOB_STATUSES = ['processing', 'completed'] as const;

/** Statuses that end a job without completing it. The service documents none; other services use these words. */
export const JOB_FAILURE_STATUSES = [
  'failed',
  'cancelled',
  'canceled',
  'error',
  'expired',
] as const;

/** A job as the reference server sends it: every field is there. */
export const jobSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  total: z.number(),
  processed: z.number(),
  results: z.array(batchResultItemSchema),
});

/**
 * A batch job. Where a service leaves a field out, or sends null or another type, the client fills in its default.
 * Fields that are not named here pass through.
 */
export interface Job {
  /** Identifier of the job: the `job_id` of the batch. @default the id that was asked for */
  id: string;
  /** `processing` or `completed`; a service may have other words. @default 'processing' */
  status: 'processing' | 'completed' | (string & {});
  /** Number of links submitted. @default 0 */
  total: number;
  /** Number of links processed so far. @default the length of `results` */
  processed: number;
  /** Items done so far, in the order they were sent. @default [] */
  results: BatchResultItem[];
}

/** Reads the response to a poll. Any object is accepted: no field is required, see {@link Job}. */
export function readJob(value: unknown): Read<Job> {
  const fields = fieldsOf(value);
  if (fields === undefined) return { missing: '' };
  const results = readResults(fields['results']);
  const data = readFields(fields, {
    id: text,
    status: (value) => text(value) || 'processing',
    total: count,
    processed: (value) => number(value, results.length),
    results: () => results,
  });
  return { data };
}
