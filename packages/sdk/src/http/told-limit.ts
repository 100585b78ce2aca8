/** `60 requests per minute`, in the message of a 429 (spec, "Limits", rule 1), however it is worded. */
const PER_MINUTE =
  /\b(\d{1,7})\s*(?:(?:requests?|calls?)\s*)?(?:per|an?|\/)\s*min|\b(\d{1,7})\s*rpm\b/i;

const MINUTE_MS = 60_000;

/**
 * The requests per minute that a 429 names, or undefined. One that asks for a longer wait than a minute was refused for another limit,
 * whatever it says.
 */
export function toldRequestsPerMinute(
  message: string,
  retryAfterMs: number | undefined,
): number | undefined {
  if (retryAfterMs === undefined || retryAfterMs > MINUTE_MS) return undefined;
  const [, requests, rpm] = PER_MINUTE.exec(message) ?? [];
  const limit = Number(requests ?? rpm ?? 0);
  return limit >= 1 ? limit : undefined;
}
