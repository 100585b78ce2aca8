import * as z from 'zod/mini';
import { each, type Fields, fieldsOf, number, type Read, text, texts } from './lenient.ts';

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
  expires_at: z.optional(z.string()),
  replaced_by: z.optional(z.string()),
  last_used_at: z.optional(z.string()),
  requests: windowCountsSchema,
  history: z.array(keyDaySchema),
  recent_refusals: z.optional(z.array(keyRefusalSchema)),
});

const topLinkSchema = z.looseObject({
  code: z.string(),
  short_url: z.string(),
  target_url: z.string(),
  title: z.string(),
  click_count: z.number(),
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
  history: z.optional(z.array(keyDaySchema)),
  top_links: z.optional(z.array(topLinkSchema)),
  keys: z.array(keyUsageSchema),
});

/** Reads the response of the usage endpoint. Any object is one: nothing is required, see {@link Usage}. */
export function readUsage(value: unknown): Read<Usage> {
  const fields = fieldsOf(value);
  if (fields === undefined) return { missing: '' };
  const { minute, day, month, ...others } = fieldsOf(fields['requests']) ?? {};
  return {
    data: {
      ...fields,
      plan: text(fields['plan']),
      requests: {
        ...others,
        minute: readWindow(minute),
        day: readWindow(day),
        month: readWindow(month),
      },
      links: readResource(fields['links']),
      api_keys: readResource(fields['api_keys']),
      batch_size: number(fields['batch_size'], null),
      history: fields['history'] === undefined ? undefined : each(fields['history'], readDay),
      top_links:
        fields['top_links'] === undefined ? undefined : each(fields['top_links'], readTopLink),
      keys: each(fields['keys'], readKey),
    },
  };
}

function readResource(value: unknown): ResourceUsage {
  const fields = fieldsOf(value) ?? {};
  return { ...fields, used: number(fields['used'], 0), limit: number(fields['limit'], null) };
}

function readWindow(value: unknown): WindowUsage {
  return { ...readResource(value), resets_at: text(fieldsOf(value)?.['resets_at']) };
}

function readDay(day: Fields): KeyDay {
  return {
    ...day,
    date: text(day['date']),
    requests: number(day['requests'], 0),
    refused: number(day['refused'], 0),
    links: number(day['links'], 0),
  };
}

function readTopLink(link: Fields): TopLink {
  return {
    ...link,
    code: text(link['code']),
    short_url: text(link['short_url']),
    target_url: text(link['target_url']),
    title: text(link['title']),
    click_count: number(link['click_count'], 0),
  };
}

function readKey(key: Fields): KeyUsage {
  const { minute, day, month } = fieldsOf(key['requests']) ?? {};
  return {
    ...key,
    id: text(key['id']),
    name: text(key['name']),
    permissions: texts(key['permissions']),
    created_at: text(key['created_at']),
    expires_at: text(key['expires_at']) || undefined,
    replaced_by: text(key['replaced_by']) || undefined,
    last_used_at: text(key['last_used_at']) || undefined,
    requests: { minute: number(minute, 0), day: number(day, 0), month: number(month, 0) },
    history: each(key['history'], readDay),
    recent_refusals: each(key['recent_refusals'], (item) => ({
      ...item,
      minute: text(item['minute']),
      reason: text(item['reason']),
      count: number(item['count'], 0),
    })),
  };
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

/** One UTC day of an API key, or of all keys of an account. */
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
  /** When the key ends, ISO 8601 in UTC. Absent when it doesn't, and from older servers. */
  expires_at?: string | undefined;
  /** Id of the key that this one was rotated to. It then no longer counts in `api_keys.used`. */
  replaced_by?: string | undefined;
  /** When the key was last used, to the minute, ISO 8601 in UTC. Absent when it never was, and from older servers. */
  last_used_at?: string | undefined;
  /** Requests of this key in the account's current windows. */
  requests: { minute: number; day: number; month: number };
  /** The last 30 days that have any use, oldest first. */
  history: KeyDay[];
  /** The last refusals by a limit, newest first: at most 20 of the last 7 days. Older servers send none. */
  recent_refusals?: KeyRefusal[] | undefined;
}

/** One of the most clicked links of an account. */
export interface TopLink {
  code: string;
  short_url: string;
  target_url: string;
  title: string;
  /** Clicks since the link was created. */
  click_count: number;
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
  /** The last 90 days that have any use, oldest first, over all keys, also revoked ones. Older servers send none. */
  history?: KeyDay[] | undefined;
  /** The 10 most clicked links, the most clicked one first. Only for keys with `analytics:read`; older servers send none. */
  top_links?: TopLink[] | undefined;
  keys: KeyUsage[];
}
