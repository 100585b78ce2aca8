import { JobFailedError } from '../errors/job-errors.ts';
import type { BatchLinkInput } from '../wire/batch.ts';
import type { Job } from '../wire/job.ts';
import { alignResults } from './align-results.ts';
import { outcomeOfResult } from './item-outcome.ts';
import { endsRun } from './refusal-fate.ts';
import {
  asShortlinkError,
  type Batch,
  type BatchEnd,
  emit,
  type RunContext,
  rangeOf,
  requestOptions,
  settledEnd,
} from './run-context.ts';

/**
 * Waits for the job of an accepted batch. A job that can't be followed to its end leaves the batch unknown, with its
 * `job_id`, so that a later run can take the wait up again. `total` is given when the batch was accepted just now.
 */
export async function followJob<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
  job_id: string,
  total?: number,
): Promise<BatchEnd<T>> {
  const range = rangeOf(batch);
  const onProgress = (job: Job) => {
    try {
      run.options.onJobProgress?.(range, job);
    } catch (error) {
      run.endWith(error);
    }
  };
  let job: Job;
  try {
    const timeoutMs = run.options.jobTimeoutMs;
    job = await run.deps.waitForJob(job_id, {
      ...requestOptions(run),
      timeoutMs,
      total,
      onProgress,
    });
  } catch (thrown) {
    const error = asShortlinkError(run, thrown);
    await emit(run, { ...range, type: 'unknown', error, job_id });
    if (endsRun(error)) run.endWith(error);
    // A job that failed half-way says what it had done until then.
    const done = JobFailedError.isInstance(error) ? error.job.results : [];
    const results = alignResults(batch.inputs, done);
    const missing = { error: error.message, cause: error };
    return settledEnd(batch, (offset) => outcomeOfResult(results[offset], missing));
  }
  return completed(run, batch, job.results, job_id);
}

/** The batch is answered: at once, or by its job. */
export async function completed<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
  answered: Job['results'],
  job_id?: string,
): Promise<BatchEnd<T>> {
  const results = alignResults(batch.inputs, answered);
  await emit(run, { ...rangeOf(batch), type: 'completed', results, job_id });
  return settledEnd(batch, (offset) => outcomeOfResult(results[offset]));
}
