/**
 * What an API key may do. `shortlinks:write` creates links (spec, "Authentication");
 * `analytics:read` reads usage and polls jobs only (DESIGN section 5). Any valid key may poll its account's jobs.
 */
export const PERMISSIONS = ['shortlinks:write', 'analytics:read'] as const;
export type Permission = (typeof PERMISSIONS)[number];
