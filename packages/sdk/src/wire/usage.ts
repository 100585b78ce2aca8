import * as z from 'zod/mini';
import {
  count,
  each,
  type Fields,
  fieldsOf,
  limit,
  optionalText,
  type Read,
  readFields,
  text,
  texts,
} from './lenient.ts';

const string = z.string();
const number = z.number();
const nullableNumber = z.nullable(number);
const optionalString = z.optional(string);

const resourceUsageSchema = z.looseObject({ used: number, limit: nullableNumber });

const windowUsageSchema = z.looseObject({ used: number, limit: nullableNumber, resets_at: string });

const windowCountsSchema = z.looseObject({ minute: number, day: number, month: number });

const keyDaySchema = z.looseObject({
  date: string,
  requests: number,
  refused: number,
  links: number,
});

const keyRefusalSchema = z.looseObject({ minute: string, reason: string, count: number });

const keyUsageSchema = z.looseObject({
  id: string,
  name: string,
  permissions: z.array(string),
  created_at: string,
  expires_at: optionalString,
  replaced_by: optionalString,
  last_used_at: optionalString,
  requests: windowCountsSchema,
  history: z.array(keyDaySchema),
  recent_refusals: z.optional(z.array(keyRefusalSchema)),
});

const topLinkSchema = z.looseObject({
  code: string,
  short_url: string,
  target_url: string,
  title: string,
  click_count: number,
});

/** Response of `GET /api/v1/usage` as the reference server sends it: every field is there. An addition of that server. */
export const usageSchema = z.looseObject({
  plan: string,
  requests: z.looseObject({
    minute: windowUsageSchema,
    day: windowUsageSchema,
    month: windowUsageSchema,
  }),
  links: resourceUsageSchema,
  api_keys: resourceUsageSchema,
  batch_size: nullableNumber,
  features: z.optional(z.array(string)),
  history: z.optional(z.array(keyDaySchema)),
  top_links: z.optional(z.array(topLinkSchema)),
  keys: z.array(keyUsageSchema),
});

/** Reads the response of the usage endpoint. Any object is accepted: no field is required, see {@link Usage}. */
export function readUsage(value: unknown): Read<Usage> {
  const fields = fieldsOf(value);
  if (fields === undefined) return { missing: '' };
  const data = readFields(fields, {
    plan: text,
    requests: (requests) =>
      readFields(fieldsOf(requests) ?? {}, {
        minute: readWindow,
        day: readWindow,
        month: readWindow,
      }),
    links: readResource,
    api_keys: readResource,
    batch_size: limit,
    features: (features) => (features === undefined ? undefined : texts(features)),
    history: (history) => (history === undefined ? undefined : each(history, readDay)),
    top_links: (links) => (links === undefined ? undefined : each(links, readTopLink)),
    keys: (keys) => each(keys, readKey),
  });
  return { data };
}

const readResource = (value: unknown): ResourceUsage =>
  readFields(fieldsOf(value) ?? {}, { used: count, limit });

const readWindow = (value: unknown): WindowUsage =>
  readFields(fieldsOf(value) ?? {}, { used: count, limit, resets_at: text });

const readDay = (day: Fields): KeyDay =>
  readFields(day, { date: text, requests: count, refused: count, links: count });

const readTopLink = (link: Fields): TopLink =>
  readFields(link, {
    code: text,
    short_url: text,
    target_url: text,
    title: text,
    click_count: count,
  });

const readRefusal = (refusal: Fields): KeyRefusal =>
  readFields(refusal, { minute: text, reason: text, count });

const readKey = (key: Fields): KeyUsage =>
  readFields(key, {
    id: text,
    name: text,
    permissions: texts,
    created_at: text,
    expires_at: optionalText,
    replaced_by: optionalText,
    last_used_at: optionalText,
    requests: (requests) =>
      readFields(fieldsOf(requests) ?? {}, { minute: count, day: count, month: count }),
    history: (history) => each(history, readDay),
    recent_refusals: (refusals) => each(refusals, readRefusal),
  });

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

/** A limit that refuses a request: a request window, the account's total of links, or the size of a batch. */
export type RefusalReason = 'minute' | 'day' | 'month' | 'links' | 'batch_size';

/** Refusals of one API key in one minute, for one reason. */
export interface KeyRefusal {
  /** When the minute began, ISO 8601 in UTC. */
  minute: string;
  /** The limit that refused, see {@link RefusalReason}. */
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
 * a count, null for a limit, an empty string or list for the others.
 */
export interface Usage {
  plan: string;
  requests: { minute: WindowUsage; day: WindowUsage; month: WindowUsage };
  links: ResourceUsage;
  api_keys: ResourceUsage;
  /** Links one batch request may carry; `null` is the endpoint's own maximum. */
  batch_size: number | null;
  /**
   * What the service offers beyond creating and polling: `idempotency` (it honours `Idempotency-Key`), `lookup` (it tells which
   * links exist). Older servers send none.
   */
  features?: string[] | undefined;
  /** The last 90 days that have any use, oldest first, over all keys, also revoked ones. Older servers send none. */
  history?: KeyDay[] | undefined;
  /** The 10 most clicked links, the most clicked one first. Only for keys with `analytics:read`; older servers send none. */
  top_links?: TopLink[] | undefined;
  keys: KeyUsage[];
}
