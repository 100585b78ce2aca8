const DAY_MS = 86_400_000;

/** From this share of a limit on, the page says so. */
const NEAR = 0.8;

export const number = new Intl.NumberFormat('en-US');

const shortDate = new Intl.DateTimeFormat('en-US', {
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
});

/** `Nov 21`, of a date or an ISO 8601 text, in UTC. */
export const dayName = (date) => shortDate.format(new Date(date));

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

/** The one sentence about the limit that matters most: one that is reached, else one that is near. */
export function noticeOf({ minute, day, month }, links) {
  const windows = [
    { window: month, when: 'this month' },
    { window: day, when: 'today' },
    { window: minute, when: 'this minute' },
  ];
  for (const { window, when } of windows) {
    if (window.limit === null || window.used < window.limit) continue;
    const text = `All ${number.format(window.limit)} requests of ${when} are used; more are refused.`;
    return { isReached: true, text, window };
  }
  if (links.limit !== null && links.used >= links.limit) {
    const text = `All ${number.format(links.limit)} links of the plan are used. New links are refused; the existing ones keep working.`;
    return { isReached: true, text };
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

/** `just now`, `4 min ago`, `on Nov 3`; of a day alone `today` or `on Nov 3`; `never` where nothing is known. */
export function ago(iso) {
  if (!iso) return 'never';
  if (iso.length === 10) {
    return iso === new Date().toISOString().slice(0, 10) ? 'today' : `on ${dayName(iso)}`;
  }
  const ms = Date.now() - new Date(iso).getTime();
  if (ms < 60_000) return 'just now';
  return ms < 14 * DAY_MS ? `${duration(ms)} ago` : `on ${dayName(iso)}`;
}

/** Each of the last `length` UTC days, oldest first, also those without use, which the service leaves out. */
export function lastDays(history, length) {
  const byDate = new Map(history.map((day) => [day.date, day]));
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  return Array.from({ length }, (_, n) => {
    const date = new Date(today - (length - 1 - n) * DAY_MS).toISOString().slice(0, 10);
    return byDate.get(date) ?? { date, requests: 0, refused: 0, links: 0 };
  });
}

/** The days of the whole account. An older service has those of each key only. */
export function historyOf({ history, keys }) {
  if (history !== undefined) return history;
  const byDate = new Map();
  for (const { date, requests, refused, links } of keys.flatMap((key) => key.history)) {
    const sum = byDate.get(date) ?? { date, requests: 0, refused: 0, links: 0 };
    sum.requests += requests;
    sum.refused += refused;
    sum.links += links;
    byDate.set(date, sum);
  }
  return [...byDate.values()];
}

/** The sum of one figure over days. */
export const total = (days, part) => days.reduce((sum, day) => sum + day[part], 0);

export function fromTemplate(id) {
  // Imported, not cloned: only then do the custom elements in it come to life at once.
  return document.importNode(document.getElementById(id).content, true);
}

/** Always as text: names of keys and titles of links are whatever somebody typed. */
export function fill(parent, selector, text) {
  parent.querySelector(selector).textContent = text;
}

/** One line of text, cut where there is no room for it. */
export function lineOf(textContent, className = '') {
  return Object.assign(document.createElement('span'), {
    textContent,
    className: `cut ${className}`,
  });
}

export function addRows(body, rows) {
  body.replaceChildren();
  for (const cells of rows) {
    const row = body.insertRow();
    for (const cell of cells) row.insertCell().append(cell);
  }
}
