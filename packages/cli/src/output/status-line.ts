import { bar, formatPercent } from '../format.ts';
import type { Io } from '../io.ts';
import type { ProgressEvent } from './json-events.ts';
import type { Printer } from './printer.ts';
import { isInteractive } from './style.ts';
import { textWidth } from './wrap.ts';

export interface Status
  extends Pick<ProgressEvent, 'task' | 'name' | 'done' | 'total'>,
    Partial<Pick<ProgressEvent, 'wait_ms' | 'left_ms'>> {
  /** What the line says, in this order. Where they don't fit, those of the highest rank are left out. */
  parts: readonly (readonly [text: string, rank: number])[];
}

/** Each redraw costs a write to the terminal. */
const REDRAW_MS = 120;

/** A log should show life, and not be filled: fewer lines while nothing changes. */
const PLAIN_LINE_MS = 5_000;
const UNCHANGED_LINES = 12;

/**
 * One line on stderr: `start` shows it now and again and again, and `stop` takes it away. A spinner on a terminal; elsewhere, and with `--json`,
 * a line every few seconds; nothing with `--quiet`.
 */
export async function openStatusLine(io: Io, printer: Printer) {
  const { quiet, json } = printer.options;
  if (quiet) return { start: (_: () => Status) => {}, stop: () => {} };
  if (json || !isInteractive(io.stderr, io.env)) return plainLines(printer);
  const { default: ora } = await import('ora');
  const spinner = ora({
    stream: io.stderr,
    isEnabled: true,
    spinner: printer.signs('…') === '…' ? 'dots' : 'line',
    // ora's own success marks, which ignore the colour decision of style.ts, are never used.
    color: printer.errStyle.enabled ? 'cyan' : false,
    // The import may read stdin, and Ctrl-C is to stay a signal.
    discardStdin: false,
  });
  const begin = (status: () => Status) => {
    const show = () => {
      const { parts, ...rest } = status();
      // A sign may be more characters in ASCII.
      const safe = parts.map(
        ([text, rank]) => [printer.signs(printer.redact(text)), rank] as const,
      );
      const width = (io.stderr.columns ?? 80) - SPINNER_WIDTH;
      spinner.text = printer.signs(fitStatus({ ...rest, parts: safe }, width));
      if (!spinner.isSpinning) spinner.start();
    };
    show();
    return show;
  };
  return shownEvery(REDRAW_MS, begin, () => spinner.stop());
}

/** `begin` is called at each start; what it returns is called again and again from then on. */
function shownEvery(ms: number, begin: (status: () => Status) => () => void, end = () => {}) {
  let timer: NodeJS.Timeout | undefined;
  return {
    start(status: () => Status) {
      clearInterval(timer);
      timer = setInterval(begin(status), ms);
      timer.unref();
    },
    stop() {
      clearInterval(timer);
      end();
    },
  };
}

/** The spinner and a space, the `^C` that a terminal echoes, and a column, since some terminals begin a new line after the last one. */
const SPINNER_WIDTH = 5;
const GAP = '   ';
/** Columns of the bar. Parts above its rank are shown only beside a good one. */
const MAX_BAR = 20;
const GOOD_BAR = 15;
const MIN_BAR = 5;
const BAR_RANK = 4;

/** The status on one line, with a bar where it is known how much there is to do. */
export function fitStatus({ parts, done, total }: Omit<Status, 'task' | 'name'>, width: number) {
  const fraction = total === null ? undefined : total === 0 ? 1 : done / total;
  const shown = [...parts];
  if (fraction !== undefined) shown.unshift([formatPercent(fraction).padStart(4), 0]);
  const line = () => shown.map(([text]) => text).join(GAP);
  while (shown.length > 1) {
    const highest = Math.max(...shown.map(([, rank]) => rank));
    const wantsBar = fraction !== undefined && highest > BAR_RANK;
    if (textWidth(line()) + (wantsBar ? GOOD_BAR + 1 : 0) <= width) break;
    const left = shown.findLastIndex(([, rank]) => rank === highest);
    shown.splice(left, 1);
  }
  const barWidth = Math.min(MAX_BAR, width - textWidth(line()) - 1);
  const hasBar = fraction !== undefined && barWidth >= MIN_BAR;
  const text = hasBar ? `${bar(fraction, barWidth)} ${line()}` : line().trimStart();
  // One part alone may be wider than the terminal, and a line that wraps can't be drawn over.
  return textWidth(text) <= width ? text : [...text].slice(0, Math.max(0, width)).join('');
}

/** Shows the status line by line: in a log, and with `--json`. */
function plainLines(printer: Printer) {
  return shownEvery(PLAIN_LINE_MS, (status) => {
    let last = '';
    let unchanged = 0;
    return () => {
      const { parts, ...facts } = status();
      const at = `${facts.done} ${parts[0]}`;
      unchanged = at === last ? unchanged + 1 : 0;
      last = at;
      if (unchanged % UNCHANGED_LINES !== 0) return;
      if (printer.options.json) {
        printer.event({ event: 'progress', wait_ms: 0, left_ms: null, ...facts });
      } else printer.note(parts.map(([text]) => text).join(', '));
    };
  });
}
