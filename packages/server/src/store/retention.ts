const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** An idempotency key is remembered this long; after it, the same key creates again. */
export const IDEMPOTENCY_RETENTION_MS = 24 * HOUR_MS;

/**
 * A completed job can be polled this long; then it and its results are deleted and polling answers 404. The links stay.
 * A week, so that a client that was down over a weekend still gets its results.
 */
export const JOB_RETENTION_MS = 7 * DAY_MS;

/** Counters of request windows are kept this long after their window ended, so that clocks that differ a little still agree. */
export const COUNTER_RETENTION_MS = DAY_MS;

/** Daily history of a key: a year and some, so that a month can be compared with the same month a year before. */
export const KEY_HISTORY_RETENTION_MS = 400 * DAY_MS;

/** Refusals are remembered minute by minute for a week, to look into what just went wrong; the daily history keeps their number. */
export const REFUSAL_RETENTION_MS = 7 * DAY_MS;

/** A write of clicks can be repeated this long (see `Store.addClicks`): longer than a database stays away from a process that waits for it. */
export const CLICK_WRITE_RETENTION_MS = 7 * DAY_MS;

/** Most clicked links that a usage response shows (see `Usage.top_links`). */
export const TOP_LINKS = 10;

/** Most clicked links that are kept for an account: some more than are shown, since their order changes between two rankings. */
export const TOP_LINKS_KEPT = 20;

/** Refusals that a usage answer shows of each key (see `KeyUsage.recent_refusals`). */
export const USAGE_REFUSALS = 20;

/** Days of history that a usage answer shows (see `KeyUsage.history`). */
export const USAGE_HISTORY_DAYS = 30;

/** Days of the account's history that a usage answer shows (see `Usage.history`). */
export const ACCOUNT_HISTORY_DAYS = 90;
