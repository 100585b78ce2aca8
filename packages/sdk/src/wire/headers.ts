/** Header names of the protocol, in the case the spec and the RFCs print them. */
export const HEADERS = {
  /** The API key of every request (spec, "Authentication"). */
  apiKey: 'X-Api-Key',
  /** Whole seconds to wait before trying again (spec, "Errors"; RFC 9110 section 10.2.3 also allows a date). */
  retryAfter: 'Retry-After',
  /** Addition: one key per logical POST (IETF draft-ietf-httpapi-idempotency-key-header-07). */
  idempotencyKey: 'Idempotency-Key',
  /** Addition: what is left of each window (IETF draft-ietf-httpapi-ratelimit-headers-11). */
  rateLimit: 'RateLimit',
  /** Addition: the windows themselves (same draft). */
  rateLimitPolicy: 'RateLimit-Policy',
  /** Addition: names one answer in logs and bug reports. */
  requestId: 'X-Request-Id',
} as const;
