import * as z from 'zod/mini';
import { limit, listOf, number, part, type Read, readWith, text, texts } from './lenient.ts';

const windowUsageSchema = z.looseObject({
  used: z.number(),
  limit: z.nullable(z.number()),
  resets_at: z.string(),
});

const resourceUsageSchema = z.looseObject({
  used: z.number(),
  limit: z.nullable(z.number()),
});

const windowCountsSchema = z.looseObject({
  minute: z.number(),
  day: z.number(),
  month: z.number(),
});

const keyDaySchema = z.looseObject({
  date: z.string(),
  requests: z.number(),
  refused: z.number(),
  links: z.number(),
});

const keyRefusalSchema = z.looseObject({
  minute: z.string(),
  reason: z.string(),
  count: z.number(),
});

const keyUsageSchema = z.looseObject({
  id: z.string(),
  name: z.string(),
  permissions: z.array(z.string()),
  created_at: z.string(),
  requests: windowCountsSchema,
  history: z.array(keyDaySchema),
  recent_refusals: z.optional(z.array(keyRefusalSchema)),
});

/** Response of `GET /api/v1/usage` as the reference server sends it: every field is there. An addition of that server. */
export const usageSchema = z.looseObject({
  plan: z.string(),
  requests: z.looseObject({
    minute: windowUsageSchema,
    day: windowUsageSchema,
    month: windowUsageSchema,
  }),
  links: resourceUsageSchema,
  api_keys: resourceUsageSchema,
  batch_size: z.nullable(z.number()),
  keys: z.array(keyUsageSchema),
});

const usedSchema = z.looseObject({ used: number(0), limit: limit() });
const usedWindowSchema = z.looseObject({ used: number(0), limit: limit(), resets_at: text() });

/** The usage as the client reads it. */
const readUsageSchema = z.looseObject({
  plan: text(),
  requests: part(
    z.looseObject({
      minute: part(usedWindowSchema),
      day: part(usedWindowSchema),
      month: part(usedWindowSchema),
    }),
  ),
  links: part(usedSchema),
  api_keys: part(usedSchema),
  batch_size: limit(),
  keys: listOf(
    z.looseObject({
      id: text(),
      name: text(),
      permissions: texts(),
      created_at: text(),
      requests: part(z.looseObject({ minute: number(0), day: number(0), month: number(0) })),
      history: listOf(
        z.looseObject({ date: text(), requests: number(0), refused: number(0), links: number(0) }),
      ),
      recent_refusals: listOf(z.looseObject({ minute: text(), reason: text(), count: number(0) })),
    }),
  ),
});

/** Reads the response of the usage endpoint. Any object is one: nothing is required, see {@link Usage}. */
export function readUsage(value: unknown): Read<Usage> {
  return readWith(readUsageSchema, value);
}

/** Use of one request window of the account. */
export interface WindowUsage {
  /** Requests counted in the current window, over all keys. */
  used: number;
  /** Requests the plan allows in it; `null` is unlimited. */
  limit: number | null;
  /** When the window ends, ISO 8601 in UTC. */
  resets_at: string;
}

/** Use of a resource of the account. */
export interface ResourceUsage {
  used: number;
  /** What the plan allows; `null` is unlimited. */
  limit: number | null;
}

/** One UTC day of one API key. */
export interface KeyDay {
  /** The day, as `YYYY-MM-DD`. */
  date: string;
  /** Requests counted. */
  requests: number;
  /** Requests refused with 429 or by a plan limit. */
  refused: number;
  /** Links created. */
  links: number;
}

/** Limits that refuse a request: a request window, the account's total of links, or the size of a batch. */
export const REFUSAL_REASONS = ['minute', 'day', 'month', 'links', 'batch_size'] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** Refusals of one API key in one minute, for one reason. */
export interface KeyRefusal {
  /** When the minute began, ISO 8601 in UTC. */
  minute: string;
  /** The limit that refused, see {@link REFUSAL_REASONS}. */
  reason: RefusalReason | (string & {});
  /** Requests refused. */
  count: number;
}

/** Use of one API key. */
export interface KeyUsage {
  id: string;
  name: string;
  permissions: string[];
  /** ISO 8601 in UTC. */
  created_at: string;
  /** Requests of this key in the account's current windows. */
  requests: { minute: number; day: number; month: number };
  /** The last 30 days that have any use, oldest first. */
  history: KeyDay[];
  /** The last refusals by a limit, newest first: at most 20 of the last 7 days. Older servers send none. */
  recent_refusals?: KeyRefusal[] | undefined;
}

/**
 * What an account uses of what its plan allows. Where a service leaves a field out, the client fills in its default: 0 for
 * a count, null for a limit, an empty text or list for the others.
 */
export interface Usage {
  plan: string;
  requests: { minute: WindowUsage; day: WindowUsage; month: WindowUsage };
  links: ResourceUsage;
  api_keys: ResourceUsage;
  /** Links one batch request may carry; `null` is the endpoint's own maximum. */
  batch_size: number | null;
  keys: KeyUsage[];
}
