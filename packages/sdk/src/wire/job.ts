import { readResults } from './batch.ts';
import * as f from './lenient.ts';

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
export interface Job extends f.Data<typeof job> {}
const job = {
  /** Identifier of the job: the `job_id` of the batch. @default the id that was asked for */
  id: f.text,
  /** `processing` or `completed`; a service may have other words. @default 'processing' */
  status: f.text as f.Reader<'processing' | 'completed' | (string & {})>,
  /** Number of links submitted. @default 0 */
  total: f.number(0),
  /** Number of links processed so far. @default the length of `results` */
  processed: f.number(0),
  /** Items done so far, in the order they were sent. @default [] */
  results: readResults,
};

const readFields = f.object<Job>(job);

/** Reads the response to a poll. Any object is accepted: no field is required, see {@link Job}. */
export function readJob(value: unknown): f.Read<Job> {
  if (!f.isObject(value)) return { missing: '' };
  const data = readFields(value);
  const processed = f.number(data.results.length)(value['processed']);
  return { data: { ...data, status: data.status || 'processing', processed } };
}
