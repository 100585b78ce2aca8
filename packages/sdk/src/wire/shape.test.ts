import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readBatch, readJob } from './batch.ts';
import { readErrorBody } from './error-body.ts';
import { readLink } from './link.ts';
import {
  completedBatchSchema,
  errorBodySchema,
  jobSchema,
  linkSchema,
  processingBatchSchema,
  usageSchema,
} from './schemas.ts';
import type { ResponseBody } from './shape.ts';
import { readUsage } from './usage.ts';

const leaf = fc.constantFrom<unknown[]>(
  ...[null, undefined, '', '302', 'text', 7, Number.NaN, true, {}, [], [null, 'a'], [{ error: 1 }]],
);

/** An object that may have some of these fields, with what a service may put there, and some that nobody expects. */
const odd = (...names: string[]) =>
  fc.dictionary(
    fc.constantFrom(...names, 'other', 'constructor'),
    fc.oneof(
      leaf,
      fc.array(fc.dictionary(fc.constantFrom('code', 'target_url', 'field', 'id'), leaf)),
      fc.dictionary(fc.constantFrom('minute', 'used', 'limit', 'message'), leaf),
    ),
  );

const READERS = {
  link: [
    (value: ResponseBody) => readLink(value),
    linkSchema,
    odd('id', 'title', 'redirect_type', 'is_active', 'tags', 'created_at').map((fields) => ({
      ...fields,
      code: 'c',
      short_url: 's',
    })),
  ],
  'a batch with results': [
    (value: ResponseBody) => readBatch(value, 200),
    completedBatchSchema,
    odd('results', 'total', 'status'),
  ],
  'a batch with a job': [
    (value: ResponseBody) => readBatch(value, 202),
    processingBatchSchema,
    odd('job_id', 'total', 'status'),
  ],
  job: [
    (value: ResponseBody) => readJob(value),
    jobSchema,
    odd('id', 'status', 'total', 'processed', 'results'),
  ],
  usage: [
    (value: ResponseBody) => readUsage(value),
    usageSchema,
    odd('plan', 'requests', 'links', 'api_keys', 'batch_size', 'keys'),
  ],
  'an error': [
    (value: ResponseBody) => {
      const data = readErrorBody(value);
      return data === undefined ? { missing: 'error' } : { data };
    },
    errorBodySchema,
    odd('error', 'upgrade', 'code', 'limit', 'used', 'allowed', 'details'),
  ],
} as const;

it.each(Object.entries(READERS))('%s: what is read is as the schema says', (_, reader) => {
  const [read, schema, values] = reader;
  let wasRead = 0;
  fc.assert(
    fc.property(values, (value) => {
      const result = read(value);
      if ('missing' in result) return;
      wasRead += 1;
      expect(schema.safeParse(result.data)).toMatchObject({ success: true });
    }),
    { numRuns: 200 },
  );
  expect(wasRead).toBeGreaterThan(0);
});
