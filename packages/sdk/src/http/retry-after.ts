/** RFC 9110 has whole seconds only; some services send decimals, and cutting those would come back too early. */
const SECONDS = /^\d+(\.\d+)?$/;

/**
 * Reads `Retry-After` (RFC 9110 section 10.2.3): seconds or an HTTP-date. Returns the wait in milliseconds, rounded up
 * and never negative, or undefined where there is no header or it can't be read.
 *
 * A date is compared with the response's own `Date` header, so that a wrong clock on either side does no harm; without
 * one (browsers hide it from other origins) with the local time `now`.
 */
export function parseRetryAfter(
  headers: { get(name: string): string | null },
  now: number,
): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (value === undefined) return undefined;
  if (SECONDS.test(value)) {
    return Math.min(Math.ceil(Number(value) * 1000), Number.MAX_SAFE_INTEGER);
  }
  const serverDate = parseHttpDate(headers.get('date')?.trim() ?? '', now);
  const from = serverDate ?? now;
  const date = parseHttpDate(value, from);
  return date === undefined ? undefined : Math.max(0, date - from);
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Sun, 06 Nov 1994 08:49:37 GMT */
const IMF_FIXDATE = /^[a-z]{3}, (\d{2}) ([a-z]{3}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/i;
/** Sunday, 06-Nov-94 08:49:37 GMT */
const RFC_850 = /^[a-z]{6,9}, (\d{2})-([a-z]{3})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/i;
/** Sun Nov  6 08:49:37 1994, which is UTC too, and which `Date.parse` takes for local time */
const ASCTIME = /^[a-z]{3} ([a-z]{3}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/i;

/**
 * Reads an HTTP-date in its three forms (RFC 9110 section 5.6.7). Returns milliseconds since 1970, or undefined for
 * anything else. `now`, in the same unit, decides the century of a two-digit year.
 */
export function parseHttpDate(text: string, now: number): number | undefined {
  const imf = IMF_FIXDATE.exec(text);
  if (imf) return utc(imf[3], imf[2], imf[1], imf[4], imf[5], imf[6]);
  const asctime = ASCTIME.exec(text);
  if (asctime) return utc(asctime[6], asctime[1], asctime[2], asctime[3], asctime[4], asctime[5]);
  const rfc850 = RFC_850.exec(text);
  if (!rfc850) return undefined;
  const year = String(fullYear(Number(rfc850[3]), now));
  return utc(year, rfc850[2], rfc850[1], rfc850[4], rfc850[5], rfc850[6]);
}

/** A two-digit year that seems more than 50 years ahead is the last past year with these digits (RFC 9110 section 5.6.7). */
function fullYear(twoDigits: number, now: number): number {
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}

/** Milliseconds since 1970; undefined where a part is out of range, such as 31 Feb or 25:00. Second 60 is a leap second. */
function utc(...parts: (string | undefined)[]): number | undefined {
  const month = MONTHS.indexOf((parts[1] ?? '').toLowerCase());
  const [year, , day, hour, minute, second] = parts.map(Number);
  if (year === undefined || day === undefined || hour === undefined) return undefined;
  if (minute === undefined || second === undefined) return undefined;
  if (month < 0 || hour > 23 || minute > 59 || second > 60) return undefined;
  const midnight = new Date(Date.UTC(2000, month, day));
  midnight.setUTCFullYear(year, month, day);
  if (midnight.getUTCDate() !== day || midnight.getUTCMonth() !== month) return undefined;
  return midnight.getTime() + ((hour * 60 + minute) * 60 + second) * 1000;
}
