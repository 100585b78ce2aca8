/** Redirect types a link can have. */
export const REDIRECT_TYPES = [301, 302, 307] as const;
export type RedirectType = (typeof REDIRECT_TYPES)[number];
/** Redirect type of a link that asked for none. */
export const DEFAULT_REDIRECT_TYPE = 302 satisfies RedirectType;

/** A batch of this many links or fewer is carried out at once (200); a larger one becomes a job (202). */
export const MAX_SYNC_BATCH_LINKS = 100;
/** The most links one batch request may carry, whatever the plan. */
export const MAX_BATCH_LINKS = 10_000;
/** Longest `target_url`, in Unicode code points. */
export const MAX_TARGET_URL_LENGTH = 2048;
/** Longest `title`, in Unicode code points. */
export const MAX_TITLE_LENGTH = 255;
/** The most tags of one link. */
export const MAX_TAGS = 20;
/** Longest tag, in Unicode code points; an empty tag is refused. */
export const MAX_TAG_LENGTH = 64;
/** The most entries `details` of a refused batch lists. */
export const MAX_ERROR_DETAILS = 100;
/** Largest request body, in bytes: 16 MiB. */
export const MAX_BODY_BYTES = 16_777_216;

/** The plans of the service. */
export const PLANS = ['community', 'pro', 'avance', 'custom'] as const;
export type Plan = (typeof PLANS)[number];

/** What a plan allows. `null` means unlimited, which only Custom accounts can be given. */
export interface PlanLimits {
  /** Requests per minute (RPM). */
  requests_per_minute: number | null;
  /** Requests per day (RPD), by UTC day. */
  requests_per_day: number | null;
  /** Requests per calendar month, by UTC month. */
  requests_per_month: number | null;
  /** Short links in total. */
  links: number | null;
  /** API keys the account may hold. */
  api_keys: number | null;
  /** Links in one batch request. The endpoint's own maximum of 10,000 applies too. */
  batch_size: number | null;
}

/** What each plan allows. A Custom account starts from this row and has every limit set on its own. */
export const PLAN_LIMITS = {
  community: {
    requests_per_minute: 15,
    requests_per_day: 100,
    requests_per_month: 2_000,
    links: 15,
    api_keys: 1,
    batch_size: MAX_SYNC_BATCH_LINKS,
  },
  pro: {
    requests_per_minute: 60,
    requests_per_day: 10_000,
    requests_per_month: 200_000,
    links: 1_000,
    api_keys: 3,
    batch_size: MAX_SYNC_BATCH_LINKS,
  },
  avance: {
    requests_per_minute: 120,
    requests_per_day: 50_000,
    requests_per_month: 1_000_000,
    links: 6_000,
    api_keys: 10,
    batch_size: 5_000,
  },
  custom: {
    requests_per_minute: null,
    requests_per_day: null,
    requests_per_month: null,
    links: null,
    api_keys: null,
    batch_size: MAX_BATCH_LINKS,
  },
} as const satisfies Record<Plan, PlanLimits>;

/** What an API key may do: `shortlinks:write` creates links, `analytics:read` reads usage; any key may poll jobs. */
export const PERMISSIONS = ['shortlinks:write', 'analytics:read'] as const;
export type Permission = (typeof PERMISSIONS)[number];
