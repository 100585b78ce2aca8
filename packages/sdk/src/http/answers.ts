import { type BatchAnswer, batchAnswerSchema } from '../wire/batch.ts';
import { type Job, jobAnswerSchema } from '../wire/job.ts';
import { type Link, linkSchema } from '../wire/link.ts';
import { type Usage, usageSchema } from '../wire/usage.ts';
import type { ResponseSchema } from './response-schema.ts';

/** What a 2xx answer can be. */
export interface Answers {
  link: Link;
  batch: BatchAnswer;
  job: Job;
  usage: Usage;
}

/**
 * How each answer is checked. Requests name their answer instead of bringing its schema, so that a program loads no
 * schema before it has sent something.
 */
export const ANSWER_SCHEMAS: { readonly [Name in keyof Answers]: ResponseSchema<Answers[Name]> } = {
  link: linkSchema,
  batch: batchAnswerSchema,
  job: jobAnswerSchema,
  usage: usageSchema,
};
