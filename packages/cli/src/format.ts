/**
 * `24638` as `24,638`, in every locale, so that logs of two machines can be compared. Without Intl, whose first use costs as much
 * start-up time as commander.
 */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** A count and its noun: `1 row`, `2 rows`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Rows per second: one decimal below 10. */
export function formatRate(perSecond: number): string {
  return perSecond < 10
    ? String(Math.round(perSecond * 10) / 10)
    : formatCount(Math.round(perSecond));
}

/** A fraction as `25%`. Only nothing is 0%, and only all is 100%. */
export function formatPercent(fraction: number): string {
  if (fraction > 0 && fraction < 0.01) return '<1%';
  return `${Math.floor(Math.min(1, fraction) * 100)}%`;
}

/** Units of time, the largest first, and how many of them make the next smaller unit irrelevant. */
const UNITS = [
  { ms: 86_400_000, name: (count: number) => (count === 1 ? 'day' : 'days'), alone: 3 },
  { ms: 3_600_000, name: () => 'h', alone: Number.POSITIVE_INFINITY },
  { ms: 60_000, name: () => 'min', alone: Number.POSITIVE_INFINITY },
] as const;

/** A time as people say it: `0.4 s`, `42 s`, `3 min 12 s`, `2 h 5 min`, `1 day 2 h`, `9 days`. */
export function formatDuration(ms: number): string {
  if (ms < 9_950) return `${Math.max(ms > 0 ? 1 : 0, Math.round(ms / 100)) / 10} s`;
  const seconds = Math.round(ms / 1000) * 1000;
  const at = UNITS.findIndex((unit) => seconds >= unit.ms);
  const unit = UNITS[at];
  if (unit === undefined) return `${seconds / 1000} s`;
  const smaller = UNITS[at + 1] ?? { ms: 1000, name: () => 's' };
  const isRough = seconds >= unit.alone * unit.ms;
  const step = isRough ? unit.ms : smaller.ms;
  const rounded = Math.round(seconds / step) * step;
  // 59 min 59.6 s are an hour, and 23 h 59 min 40 s a day.
  const larger = UNITS[at - 1];
  if (larger !== undefined && rounded >= larger.ms) return formatDuration(larger.ms);
  const count = Math.floor(rounded / unit.ms);
  const rest = (rounded - count * unit.ms) / smaller.ms;
  const first = `${count} ${unit.name(count)}`;
  return rest === 0 ? first : `${first} ${rest} ${smaller.name(rest)}`;
}

/** The same in one unit, for an estimate: `40 s`, `2 min`, `5 h`, `9 days`. */
export function formatEstimate(ms: number): string {
  const unit = UNITS.find((one) => ms >= one.ms * 0.95);
  if (unit === undefined) return formatDuration(Math.max(1, Math.ceil(ms / 1000)) * 1000);
  return formatDuration(Math.max(1, Math.round(ms / unit.ms)) * unit.ms);
}

/** A time that counts down: `0:06`, `3:20`; in words from an hour on. Rounded up, so that it reaches 0 no sooner than the wait. */
export function formatClock(ms: number): string {
  const total = Math.max(0, Math.ceil(ms / 1000));
  if (total >= 3600) return formatDuration(total * 1000);
  return `${Math.floor(total / 60)}:${String(total % 60).padStart(2, '0')}`;
}

/** A bar of `width` characters, `fraction` (0 to 1) of it filled. Anything used at all shows, and only all is full. */
export function bar(fraction: number, width: number): string {
  const bounded = Math.min(1, Math.max(0, fraction));
  const filled = Math.max(bounded > 0 ? 1 : 0, Math.floor(bounded * width));
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}
