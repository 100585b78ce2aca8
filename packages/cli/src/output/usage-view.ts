import type { ResourceUsage, Usage } from '@shortlink/sdk';
import { bar } from './bar.ts';
import { formatCount, formatDuration } from './format.ts';
import { sanitize } from './sanitize.ts';
import type { Paint, Style } from './style.ts';

const BAR_WIDTH = 24;
const NAME_WIDTH = 21;

/** From here on a limit is near, and from 1 on it is reached. */
const NEAR = 0.8;

/** A line for each limit of the plan: a bar, the counts, and when the window begins anew. */
export function renderUsage(usage: Usage, style: Style, now: number): string {
  const window = ({ used, limit, resets_at }: Usage['requests']['minute']) => {
    const left = Date.parse(resets_at) - now;
    return { used, limit, note: left > 0 ? `new in ${formatDuration(left)}` : '' };
  };
  const batch =
    usage.batch_size === null
      ? 'up to 10,000 links'
      : `up to ${formatCount(usage.batch_size)} links`;
  return [
    `${style.bold('Plan'.padEnd(NAME_WIDTH))}${sanitize(usage.plan)}`,
    line('Requests this minute', window(usage.requests.minute), style),
    line('Requests today', window(usage.requests.day), style),
    line('Requests this month', window(usage.requests.month), style),
    line('Short links', usage.links, style),
    line('API keys', usage.api_keys, style),
    `${style.bold('Batch size'.padEnd(NAME_WIDTH))}${batch}`,
  ].join('\n');
}

function line(name: string, of: ResourceUsage & { note?: string }, style: Style): string {
  const label = style.bold(name.padEnd(NAME_WIDTH));
  if (of.limit === null) {
    return `${label}${style.dim(bar(0, BAR_WIDTH))}  ${formatCount(of.used)}, no limit`;
  }
  // A limit of 0 is reached before anything is used.
  const fraction = of.limit === 0 ? 1 : of.used / of.limit;
  const percent = `${Math.floor(fraction * 100)}%`.padStart(4);
  const counts = `${percent}  ${formatCount(of.used)} of ${formatCount(of.limit)}`;
  const note = of.note === undefined || of.note === '' ? '' : style.dim(`, ${of.note}`);
  return `${label}${paintOf(fraction, style)(bar(fraction, BAR_WIDTH))} ${counts}${note}`;
}

function paintOf(fraction: number, style: Style): Paint {
  if (fraction >= 1) {
    return style.red;
  }
  return fraction >= NEAR ? style.yellow : style.green;
}
