/** `24638` as `24,638`, in every locale. The first use of Intl costs as much start-up time as commander. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** `1 row`, `2 rows`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function present(...texts: readonly (string | false | undefined)[]): string[] {
  return texts.filter((text) => typeof text === 'string');
}

/** Rows per second: one decimal below 10. */
export function formatRate(perSecond: number): string {
  if (perSecond >= 10) return formatCount(Math.round(perSecond));
  return String(Math.round(perSecond * 10) / 10);
}

/** `25%`. Only nothing is 0%, and only all is 100%. */
export function formatPercent(fraction: number): string {
  if (fraction > 0 && fraction < 0.01) return '<1%';
  return `${Math.floor(Math.min(1, fraction) * 100)}%`;
}

const DAY_MS = 86_400_000;

/** In at most two units: `0.4 s`, `42 s`, `3 min 12 s`, `2 h 5 min`, `1 day 2 h`, `9 days`. */
export function formatDuration(ms: number): string {
  if (ms < 9_950) return `${Math.max(ms > 0 ? 1 : 0, Math.round(ms / 100)) / 10} s`;
  // Seconds are not shown from an hour on, and hours not from three days on.
  const stepMs = ms < 3_570_000 ? 1000 : ms < 3 * DAY_MS ? 60_000 : DAY_MS;
  const seconds = (Math.round(ms / stepMs) * stepMs) / 1000;
  const days = Math.floor(seconds / 86_400);
  const units = [
    [days, days === 1 ? 'day' : 'days'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = units.findIndex(([count]) => count > 0);
  const shown = units.slice(first, first + 2).filter(([count]) => count > 0);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

/** `0:06`, `3:20`; in words from an hour on. Rounded up, so that it reaches 0 no sooner than the wait. */
export function formatClock(ms: number): string {
  const total = Math.max(0, Math.ceil(ms / 1000));
  if (total >= 3600) return formatDuration(total * 1000);
  return `${Math.floor(total / 60)}:${String(total % 60).padStart(2, '0')}`;
}

/** `fraction` (0 to 1) of a bar is filled. Anything used at all shows, and only all is full. */
export function bar(fraction: number, width: number): string {
  const bounded = Math.min(1, Math.max(0, fraction));
  const filled = Math.max(bounded > 0 ? 1 : 0, Math.floor(bounded * width));
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}
