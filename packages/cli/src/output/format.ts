/**
 * `24638` as `24,638`, in every locale: logs from two machines should compare. Not by Intl, whose first use costs as much
 * start-up time as commander.
 */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

function oneDecimal(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** A count and its noun: `1 row`, `2 rows`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Rows per second: one decimal below 10, where it says something. */
export function formatRate(perSecond: number): string {
  return perSecond < 10 ? oneDecimal(perSecond) : formatCount(Math.round(perSecond));
}

/** A time for people: `850 ms`, `4.2 s`, `3 min 20 s`, `26 h 4 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${oneDecimal(ms / 1000)} s`;
  const seconds = Math.round(ms / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  if (hours > 0) return joinUnits(hours, 'h', minutes, 'min');
  return joinUnits(minutes, 'min', seconds % 60, 's');
}

function joinUnits(first: number, firstUnit: string, second: number, secondUnit: string): string {
  return second === 0 ? `${first} ${firstUnit}` : `${first} ${firstUnit} ${second} ${secondUnit}`;
}

/** A time that counts down: `0:06`, `3:20`, `26:04:00`. Rounded up, so that it reaches 0 no sooner than the wait. */
export function formatClock(ms: number): string {
  const total = Math.max(0, Math.ceil(ms / 1000));
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor((total % 3600) / 60);
  const seconds = String(total % 60).padStart(2, '0');
  return hours > 0
    ? `${hours}:${String(minutes).padStart(2, '0')}:${seconds}`
    : `${minutes}:${seconds}`;
}

const FULL = '█';
const EMPTY = '░';

/** A bar of `width` characters, `fraction` (0 to 1) of it filled. Anything used at all shows, and only all is full. */
export function bar(fraction: number, width: number): string {
  const bounded = Math.min(1, Math.max(0, fraction));
  let filled = Math.floor(bounded * width);
  if (bounded > 0 && filled === 0) {
    filled = 1;
  }
  return FULL.repeat(filled) + EMPTY.repeat(width - filled);
}

/** Breaks lines at spaces so that a terminal of `width` columns need not break them inside words. */
export function wrapWords(text: string, width: number | undefined): string {
  if (width === undefined || width < 1) return text;
  return text
    .split('\n')
    .map((line) => wrapLine(line, width))
    .join('\n');
}

function wrapLine(line: string, width: number): string {
  const [first = '', ...words] = line.split(' ');
  const lines: string[] = [];
  let current = first;
  for (const word of words) {
    const longer = `${current} ${word}`;
    if (longer.length > width) lines.push(current);
    current = longer.length > width ? word : longer;
  }
  return [...lines, current].join('\n');
}
