const DAY_MS = 86_400_000;

/** From this share of a limit on, the page says so. */
const NEAR = 0.8;

export const number = new Intl.NumberFormat('en-US');

const shortDate = new Intl.DateTimeFormat('en-US', {
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
});

const fullDate = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' });

/** `Nov 21`, of a date or an ISO 8601 text, in UTC. */
export const dayName = (date) => shortDate.format(new Date(date));

/** The same for days that may be years away: `Nov 21, 2024` where that is not the year of today. */
export const dateName = (iso, serviceNow) =>
  iso.slice(0, 4) === dateOf(serviceNow).slice(0, 4)
    ? dayName(iso)
    : fullDate.format(new Date(iso));

/** `12%`. Anything above nothing is at least `<1%`, and only a limit that is reached is `100%`. */
export function percent(used, limit) {
  if (limit === 0 || used >= limit) return '100%';
  const share = (used / limit) * 100;
  return share > 0 && share < 1 ? '<1%' : `${Math.floor(share)}%`;
}

/** `11 s`, `4 min`, `3 h`, `9 days`: a wait as a person says it. */
export function duration(ms) {
  const seconds = Math.max(1, Math.ceil(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  if (hours < 48) return `${hours} h`;
  return `${Math.round(hours / 24)} days`;
}

/** `3 requests`, `1 link`. */
export const count = (amount, noun) => `${number.format(amount)} ${noun}${amount === 1 ? '' : 's'}`;

/** What to do about a limit that only a larger plan lifts. */
const LARGER_PLAN = 'For more, ask whoever runs this service for a larger plan.';

/** The one sentence about the limit that matters most: of those that are reached the one that lasts longest, else one that is near. */
export function noticeOf({ minute, day, month }, links) {
  const windows = [
    { window: month, when: 'this month', advice: ` ${LARGER_PLAN}` },
    { window: day, when: 'today', advice: '' },
    { window: minute, when: 'this minute', advice: '' },
  ];
  if (links.limit !== null && links.used >= links.limit) {
    const text = `All ${number.format(links.limit)} links of the plan are used. New links are refused; the existing ones keep working. ${LARGER_PLAN}`;
    return { isReached: true, text };
  }
  for (const { window, when, advice } of windows) {
    if (window.limit === null || window.used < window.limit) continue;
    const text = `All ${number.format(window.limit)} requests of ${when} are used; more are refused.${advice}`;
    return { isReached: true, text, window };
  }
  if (links.limit !== null && links.used >= links.limit * NEAR) {
    const left = links.limit - links.used;
    return { text: `There is room for ${count(left, 'more link')} in the plan.` };
  }
  for (const { window, when } of windows.slice(0, 2)) {
    if (window.limit === null || window.used < window.limit * NEAR) continue;
    return {
      text: `${percent(window.used, window.limit)} of the requests of ${when} are used.`,
      window,
    };
  }
  return undefined;
}

export const withoutScheme = (url) => url.replace(/^https?:\/\//, '');

/** The UTC date of a time, as `YYYY-MM-DD`. */
export const dateOf = (ms) => new Date(ms).toISOString().slice(0, 10);

/** `14:05 UTC`, and the day before it where that is not today's. */
export function utcTime(iso, serviceNow) {
  const day = iso.slice(0, 10) === dateOf(serviceNow) ? '' : `${dayName(iso)}, `;
  return `${day}${iso.slice(11, 16)} UTC`;
}

/** `just now`, `4 min ago`, `on Nov 3`; of a day alone `today` or `on Nov 3`; `never` where nothing is known. */
export function ago(iso, serviceNow) {
  if (!iso) return 'never';
  if (iso.length === 10)
    return iso === dateOf(serviceNow) ? 'today' : `on ${dateName(iso, serviceNow)}`;
  const ms = serviceNow - Date.parse(iso);
  if (ms < 60_000) return 'just now';
  return ms < 14 * DAY_MS ? `${duration(ms)} ago` : `on ${dateName(iso, serviceNow)}`;
}

/** Each of the last `length` UTC days up to `today`, oldest first, also those without use, which the service leaves out. */
export function lastDays(history, length, today) {
  const byDate = new Map(history.map((day) => [day.date, day]));
  return Array.from({ length }, (_, n) => {
    const date = dateOf(Date.parse(today) - (length - 1 - n) * DAY_MS);
    return byDate.get(date) ?? { date, requests: 0, refused: 0, links: 0 };
  });
}

/** The sum of one figure over days. */
export const total = (days, part) => days.reduce((sum, day) => sum + day[part], 0);
