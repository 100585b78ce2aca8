import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jobAnswerSchema, jobSchema } from './job.ts';

const text = fc.constantFrom('', 'x');
const maybe = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: value }, fc.constantFrom(null, undefined, 7, [], {}));
const item = fc.record(
  {
    target_url: maybe(text),
    code: maybe(text),
    short_url: maybe(text),
    error: maybe(text),
    other: fc.anything(),
  },
  { requiredKeys: [] },
);
const job = fc.record(
  {
    id: maybe(text),
    status: maybe(text),
    total: fc.oneof(fc.integer(), fc.constantFrom('1', Number.POSITIVE_INFINITY, null)),
    processed: fc.oneof({ weight: 9, arbitrary: fc.integer() }, fc.constant(undefined)),
    results: maybe(
      fc.array(fc.oneof({ weight: 9, arbitrary: item }, fc.constant(null)), { maxLength: 3 }),
    ),
  },
  { requiredKeys: [] },
);

test('the quick look takes just what the schema takes', () => {
  fc.assert(
    fc.property(fc.oneof(job, fc.anything()), (value) => {
      const quick = jobAnswerSchema.safeParse(value);
      const whole = jobSchema.safeParse(value);
      expect(quick.success).toBe(whole.success);
      if (whole.success) expect(quick.data).toEqual(whole.data);
    }),
    { numRuns: 2000 },
  );
});
