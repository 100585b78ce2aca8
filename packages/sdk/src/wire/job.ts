import { results } from './batch.ts';
import { type Data, isObject, number, type Read, reader } from './shape.ts';

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

const readFields = reader<Job>(job);

/** Reads the response to a poll. Any object is accepted: no field is required, see {@link Job}. */
export function readJob(value: unknown): Read<Job> {
  if (!isObject(value)) return { missing: '' };
  const data = readFields(value);
  const processed = number(value['processed'], data.results.length);
  return { data: { ...data, status: data.status || 'processing', processed } };
}
