import * as f from './lenient.ts';

/** Use of a resource of the account. */
export interface ResourceUsage extends f.Data<typeof resourceUsage> {}
const resourceUsage = {
  used: f.number(0),
  /** What the plan allows; `null` is unlimited. */
  limit: f.number(null),
};

/** Use of one request window of the account: the requests of all keys that were counted in it. */
export interface WindowUsage extends f.Data<typeof windowUsage> {}
const windowUsage = {
  used: f.number(0),
  /** What the plan allows; `null` is unlimited. */
  limit: f.number(null),
  /** When the window ends, ISO 8601 in UTC. */
  resets_at: f.text,
};

/** One UTC day of an API key, or of all keys of an account. */
export interface KeyDay extends f.Data<typeof keyDay> {}
const keyDay = {
  /** The day, as `YYYY-MM-DD`. */
  date: f.text,
  /** Requests counted. */
  requests: f.number(0),
  /** Requests refused with 429 or by a plan limit. */
  refused: f.number(0),
  /** Links created. */
  links: f.number(0),
};

/** A limit that refuses a request: a request window, the account's total of links, or the size of a batch. */
export type RefusalReason = 'minute' | 'day' | 'month' | 'links' | 'batch_size';

/** Refusals of one API key in one minute, for one reason. */
export interface KeyRefusal extends f.Data<typeof keyRefusal> {}
const keyRefusal = {
  /** When the minute began, ISO 8601 in UTC. */
  minute: f.text,
  /** The limit that refused, see {@link RefusalReason}. */
  reason: f.text as f.Reader<RefusalReason | (string & {})>,
  /** Requests refused. */
  count: f.number(0),
};

/** Use of one API key. */
export interface KeyUsage extends f.Data<typeof keyUsage> {}
const keyUsage = {
  id: f.text,
  name: f.text,
  permissions: f.texts,
  /** ISO 8601 in UTC. */
  created_at: f.text,
  /** When the key ends, ISO 8601 in UTC. Absent when it doesn't, and from older servers. */
  expires_at: f.optionalText,
  /** Id of the key that this one was rotated to. It then no longer counts in `api_keys.used`. */
  replaced_by: f.optionalText,
  /** When the key was last used, to the minute, ISO 8601 in UTC. Absent when it never was, and from older servers. */
  last_used_at: f.optionalText,
  /** Requests of this key in the account's current windows. */
  requests: f.object({ minute: f.number(0), day: f.number(0), month: f.number(0) }),
  /** The last 30 days that have any use, oldest first. */
  history: f.list(f.object<KeyDay>(keyDay)),
  /** The last refusals by a limit, newest first: at most 20 of the last 7 days. Older servers send none. */
  recent_refusals: f.optional(f.list(f.object<KeyRefusal>(keyRefusal))),
};

/** One of the most clicked links of an account. */
export interface TopLink extends f.Data<typeof topLink> {}
const topLink = {
  code: f.text,
  short_url: f.text,
  target_url: f.text,
  title: f.text,
  /** Clicks since the link was created. */
  click_count: f.number(0),
};

/**
 * What an account uses of what its plan allows. Where a service leaves a field out, the client fills in its default: 0 for
 * a count, null for a limit, an empty string or list for the others.
 */
export interface Usage extends f.Data<typeof usage> {}
const usage = {
  plan: f.text,
  requests: f.object({
    minute: f.object<WindowUsage>(windowUsage),
    day: f.object<WindowUsage>(windowUsage),
    month: f.object<WindowUsage>(windowUsage),
  }),
  links: f.object<ResourceUsage>(resourceUsage),
  api_keys: f.object<ResourceUsage>(resourceUsage),
  /** Links one batch request may carry; `null` is the endpoint's own maximum. */
  batch_size: f.number(null),
  /**
   * What the service offers beyond creating and polling: `idempotency` (it honours `Idempotency-Key`), `lookup` (it tells which
   * links exist). Older servers send none.
   */
  features: f.optional(f.texts),
  /** The last 90 days that have any use, oldest first, over all keys, also revoked ones. Older servers send none. */
  history: f.optional(f.list(f.object<KeyDay>(keyDay))),
  /** The 10 most clicked links, the most clicked one first. Only for keys with `analytics:read`; older servers send none. */
  top_links: f.optional(f.list(f.object<TopLink>(topLink))),
  keys: f.list(f.object<KeyUsage>(keyUsage)),
};

const readFields = f.object<Usage>(usage);

/** Reads the response of the usage endpoint. Any object is accepted: no field is required, see {@link Usage}. */
export function readUsage(value: unknown): f.Read<Usage> {
  return f.isObject(value) ? { data: readFields(value) } : { missing: '' };
}
