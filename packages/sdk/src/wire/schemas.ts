import * as z from 'zod/mini';
import type { BatchResultItem, CompletedBatch, ProcessingBatch } from './batch.ts';
import type { ErrorBody, ErrorDetail } from './error-body.ts';
import type { Job } from './job.ts';
import type { RedirectType } from './limits.ts';
import type { Link } from './link.ts';
import type { LookupResponse, LookupResult } from './lookup.ts';
import type * as u from './usage.ts';

/**
 * The shapes of the protocol as zod/mini schemas: what the reference server sends. Its OpenAPI document is made from them. The
 * client doesn't run them, and nothing else of this package imports zod. They are written by hand, since schemas that are made
 * from the client's readers load 0.2 KB more, and one schema alone 0.6; the compiler compares each field with what is read.
 */

type ObjectOf = <T>(
  fields: {
    readonly [Name in keyof T]-?: z.ZodMiniType<T[Name]>;
  },
) => z.ZodMiniType<T>;

/** Every field of the interface, and no other one; what else is sent is kept. */
const object = z.looseObject as unknown as ObjectOf;

const text = z.string();
const count = z.number();
const texts = z.array(text);
const optionalText = z.optional(text);
const optionalCount = z.optional(count);
const limit = z.nullable(count);

/** A link, as each field of it is sent. */
export const linkSchema = object<Link>({
  id: text,
  code: text,
  short_url: text,
  target_url: text,
  title: text,
  // Another service may have others.
  redirect_type: count as z.ZodMiniType<RedirectType>,
  is_active: z.boolean(),
  click_count: count,
  tags: texts,
  created_at: text,
});

/** One entry of `results`. */
export const batchResultItemSchema = object<BatchResultItem>({
  target_url: text,
  code: optionalText,
  short_url: optionalText,
  error: z.nullable(optionalText),
});

/** 200: the batch was small enough to be carried out at once. */
export const completedBatchSchema = object<CompletedBatch>({
  status: z.literal('completed'),
  total: count,
  results: z.array(batchResultItemSchema),
});

/** 202: the batch became a job. */
export const processingBatchSchema = object<ProcessingBatch>({
  status: z.literal('processing'),
  job_id: text,
  total: count,
});

/** The response to a poll. */
export const jobSchema = object<Job>({
  id: text,
  status: text,
  total: count,
  processed: count,
  results: z.array(batchResultItemSchema),
});

/** The response to a look-up. An addition of the reference server. */
export const lookupSchema = object<LookupResponse>({
  results: z.array(object<LookupResult>({ links: z.array(linkSchema), more: z.boolean() })),
});

/** Error body: a string `error`, and `upgrade` on a resource limit. Everything else is an addition. */
export const errorBodySchema = object<ErrorBody>({
  error: text,
  upgrade: z.optional(z.boolean()),
  code: optionalText,
  limit: optionalText,
  used: optionalCount,
  allowed: optionalCount,
  details: z.optional(
    z.array(object<ErrorDetail>({ index: optionalCount, field: text, message: text })),
  ),
});

const resource = object<u.ResourceUsage>({ used: count, limit });
const window = object<u.WindowUsage>({ used: count, limit, resets_at: text });
const keyDay = object<u.KeyDay>({ date: text, requests: count, refused: count, links: count });

/** The response of `GET /api/v1/usage`. An addition of the reference server. */
export const usageSchema = object<u.Usage>({
  plan: text,
  requests: object({ minute: window, day: window, month: window }),
  links: resource,
  api_keys: resource,
  batch_size: limit,
  features: z.optional(texts),
  history: z.optional(z.array(keyDay)),
  top_links: z.optional(
    z.array(
      object<u.TopLink>({
        code: text,
        short_url: text,
        target_url: text,
        title: text,
        click_count: count,
      }),
    ),
  ),
  keys: z.array(
    object<u.KeyUsage>({
      id: text,
      name: text,
      permissions: texts,
      created_at: text,
      expires_at: optionalText,
      replaced_by: optionalText,
      last_used_at: optionalText,
      requests: object({ minute: count, day: count, month: count }),
      history: z.array(keyDay),
      recent_refusals: z.optional(
        z.array(object<u.KeyRefusal>({ minute: text, reason: text, count })),
      ),
    }),
  ),
});
