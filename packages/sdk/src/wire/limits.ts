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
export const MAX_BODY_BYTES = 16 * 1024 * 1024;
