import type { Io } from '../io.ts';
import type { Printer } from './printer.ts';
import { sanitize } from './sanitize.ts';
import { isInteractive } from './style.ts';

/** One line on stderr that says how far something is. */
interface StatusLine {
  /** Shows what `text` returns now, and goes on asking it. A second start replaces the text of the first. */
  start(text: () => string): void;
  /** Takes the line away. Does nothing where none is shown. */
  stop(): void;
}

/** Often enough to look alive; each redraw costs a write to the terminal. */
const REDRAW_MS = 120;

/** Between two plain lines: a CI log of an hour's import has 720 of them. */
const PLAIN_LINE_MS = 5_000;

/** A spinner on a terminal; elsewhere a plain line every few seconds, where it says something new; nothing with `--quiet`. */
export async function openStatusLine(io: Io, printer: Printer): Promise<StatusLine> {
  if (printer.options.quiet) return { start: () => {}, stop: () => {} };
  if (!isInteractive(io.stderr, io.env)) return plainLines(printer);
  const { default: ora } = await import('ora');
  const spinner = ora({
    stream: io.stderr,
    isEnabled: true,
    // Only the colour decision of style.ts counts; ora's own success marks, which ignore it, are never used.
    color: printer.errStyle.enabled ? 'cyan' : false,
    // Reading from stdin may be the import's own business, and Ctrl-C is to stay a signal.
    discardStdin: false,
  });
  const fit = (text: string) => cut(printer.redact(sanitize(text)), (io.stderr.columns ?? 80) - 3);
  return repeating(REDRAW_MS, {
    show: (text) => {
      spinner.text = fit(text);
      if (!spinner.isSpinning) {
        spinner.start();
      }
    },
    end: () => spinner.stop(),
  });
}

function plainLines(printer: Printer): StatusLine {
  let last: string | undefined;
  return repeating(PLAIN_LINE_MS, {
    show: (text) => {
      if (text !== last) {
        last = text;
        printer.note(text);
      }
    },
    end: () => {},
  });
}

function repeating(
  intervalMs: number,
  line: { show: (text: string) => void; end: () => void },
): StatusLine {
  let timer: NodeJS.Timeout | undefined;
  return {
    start(text) {
      clearInterval(timer);
      line.show(text());
      timer = setInterval(() => line.show(text()), intervalMs);
      // The work keeps the process alive, not the line about it.
      timer.unref();
    },
    stop() {
      if (timer !== undefined) {
        clearInterval(timer);
        timer = undefined;
        line.end();
      }
    },
  };
}

/** A line that wraps can't be redrawn cleanly. */
function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width
    ? text
    : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`;
}
