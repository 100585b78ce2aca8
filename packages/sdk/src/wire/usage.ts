import { type Data, optional, type Read, type ResponseBody, reader } from './shape.ts';

const limit = null as number | null;

/** Use of a resource of the account. */
export interface ResourceUsage extends Data<typeof resourceUsage> {}
const resourceUsage = {
  used: 0,
  /** What the plan allows; `null` is unlimited. */
  limit,
};

/** Use of one request window of the account: the requests of all keys that were counted in it. */
export interface WindowUsage extends Data<typeof windowUsage> {}
const windowUsage = {
  used: 0,
  /** What the plan allows; `null` is unlimited. */
  limit,
  /** When the window ends, ISO 8601 in UTC. */
  resets_at: '',
};

/** One UTC day of an API key, or of all keys of an account. */
export interface KeyDay extends Data<typeof keyDay> {}
const keyDay = {
  /** The day, as `YYYY-MM-DD`. */
  date: '',
  /** Requests counted. */
  requests: 0,
  /** Requests refused with 429 or by a plan limit. */
  refused: 0,
  /** Links created. */
  links: 0,
};

/** A limit that refuses a request: a request window, the account's total of links, or the size of a batch. */
export type RefusalReason = 'minute' | 'day' | 'month' | 'links' | 'batch_size';

/** Refusals of one API key in one minute, for one reason. */
export interface KeyRefusal extends Data<typeof keyRefusal> {}
const keyRefusal = {
  /** When the minute began, ISO 8601 in UTC. */
  minute: '',
  /** The limit that refused, see {@link RefusalReason}. */
  reason: '' as RefusalReason | (string & {}),
  /** Requests refused. */
  count: 0,
};

/** Use of one API key. */
export interface KeyUsage extends Data<typeof keyUsage> {}
const keyUsage = {
  id: '',
  name: '',
  permissions: [''],
  /** ISO 8601 in UTC. */
  created_at: '',
  /** When the key ends, ISO 8601 in UTC. Absent when it doesn't, and from older servers. */
  expires_at: optional(''),
  /** Id of the key that this one was rotated to. It then no longer counts in `api_keys.used`. */
  replaced_by: optional(''),
  /** When the key was last used, to the minute, ISO 8601 in UTC. Absent when it never was, and from older servers. */
  last_used_at: optional(''),
  /** Requests of this key in the account's current windows. */
  requests: { minute: 0, day: 0, month: 0 },
  /** The last 30 days that have any use, oldest first. */
  history: [keyDay] as KeyDay[],
  /** The last refusals by a limit, newest first: at most 20 of the last 7 days. Older servers send none. */
  recent_refusals: optional([keyRefusal] as KeyRefusal[]),
};

/** One of the most clicked links of an account. */
export interface TopLink extends Data<typeof topLink> {}
const topLink = {
  code: '',
  short_url: '',
  target_url: '',
  title: '',
  /** Clicks since the link was created. */
  click_count: 0,
};

/**
 * What an account uses of what its plan allows. Where a service leaves a field out, the client fills in its default: 0 for
 * a count, null for a limit, an empty string or list for the others.
 */
export interface Usage extends Data<typeof usage> {}
export const usage = {
  plan: '',
  /** What whoever runs the service calls the account. Older servers send none. */
  account_name: optional(''),
  requests: {
    minute: windowUsage as WindowUsage,
    day: windowUsage as WindowUsage,
    month: windowUsage as WindowUsage,
  },
  links: resourceUsage as ResourceUsage,
  api_keys: resourceUsage as ResourceUsage,
  /** Links one batch request may carry; `null` is the endpoint's own maximum. */
  batch_size: limit,
  /** What else the service offers: `idempotency` (it honours `Idempotency-Key`), `lookup`. Older servers send none. */
  features: optional(['']),
  /** The last 90 days that have any use, oldest first, over all keys, also revoked ones. Older servers send none. */
  history: optional([keyDay] as KeyDay[]),
  /** The 10 most clicked links, the most clicked one first. Only for keys with `analytics:read`; older servers send none. */
  top_links: optional([topLink] as TopLink[]),
  keys: [keyUsage] as KeyUsage[],
};

const readFields = reader<Usage>(usage);

/** Reads the response of the usage endpoint. No field is required, see {@link Usage}. */
export function readUsage(value: ResponseBody): Read<Usage> {
  return { data: readFields(value) };
}
