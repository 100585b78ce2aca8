import * as f from './lenient.ts';

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

const resourceUsage = f.object<ResourceUsage>({ used: f.count, limit: f.limit });
const windowUsage = f.object<WindowUsage>({ used: f.count, limit: f.limit, resets_at: f.text });

const keyDays = f.list(
  f.object<KeyDay>({ date: f.text, requests: f.count, refused: f.count, links: f.count }),
);

const refusals = f.list(f.object<KeyRefusal>({ minute: f.text, reason: f.text, count: f.count }));

const keyUsage = f.object<KeyUsage>({
  id: f.text,
  name: f.text,
  permissions: f.texts,
  created_at: f.text,
  expires_at: f.optionalText,
  replaced_by: f.optionalText,
  last_used_at: f.optionalText,
  requests: f.object<KeyUsage['requests']>({ minute: f.count, day: f.count, month: f.count }),
  history: keyDays,
  recent_refusals: refusals,
});

const topLinks = f.list(
  f.object<TopLink>({
    code: f.text,
    short_url: f.text,
    target_url: f.text,
    title: f.text,
    click_count: f.count,
  }),
);

const fields = f.object<Usage>({
  plan: f.text,
  requests: f.object<Usage['requests']>({
    minute: windowUsage,
    day: windowUsage,
    month: windowUsage,
  }),
  links: resourceUsage,
  api_keys: resourceUsage,
  batch_size: f.limit,
  features: f.optional(f.texts),
  history: f.optional(keyDays),
  top_links: f.optional(topLinks),
  keys: f.list(keyUsage),
});

/** Reads the response of the usage endpoint. Any object is accepted: no field is required, see {@link Usage}. */
export function readUsage(value: unknown): f.Read<Usage> {
  return f.isObject(value) ? { data: fields(value) } : { missing: '' };
}
