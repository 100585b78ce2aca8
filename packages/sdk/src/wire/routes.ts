/** Prefix of all paths, relative to the service's base address; it names the version of the protocol. */
export const API_PREFIX = '/api/v1';

/** Every path a client calls. `linksLookup` and `usage` are additions of the reference server. */
export const ROUTES = {
  links: '/api/v1/links',
  linksBatch: '/api/v1/links/batch',
  linksLookup: '/api/v1/links/lookup',
  jobs: '/api/v1/jobs',
  usage: '/api/v1/usage',
} as const;

/** Path of one batch job: `GET /api/v1/jobs/<job_id>`. */
export function jobPath(jobId: string): string {
  return `${ROUTES.jobs}/${encodeURIComponent(jobId)}`;
}

/** Header names of the protocol, in the case that its documents print them. */
export const HEADERS = {
  /** The API key of every request. */
  apiKey: 'X-Api-Key',
  /** Whole seconds to wait before trying again, or a date (RFC 9110 section 10.2.3). */
  retryAfter: 'Retry-After',
  /** Addition: one key per logical POST (IETF draft-ietf-httpapi-idempotency-key-header-07). */
  idempotencyKey: 'Idempotency-Key',
  /** Addition: what is left of each window (IETF draft-ietf-httpapi-ratelimit-headers-11). */
  rateLimit: 'RateLimit',
  /** Addition: the windows themselves (same draft). */
  rateLimitPolicy: 'RateLimit-Policy',
  /** Addition: names one response in logs and bug reports. */
  requestId: 'X-Request-Id',
} as const;
