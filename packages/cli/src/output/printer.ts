import type { Logger } from '@shortlink/sdk';
import type { ExitCode } from '../cli-error.ts';
import type { Io, OutputStream } from '../io.ts';
import { sanitizeLines, toSafeJson } from './sanitize.ts';
import { createStyle, type Paint, type Style, wantsColor } from './style.ts';
import { wrapWords } from './wrap.ts';

interface PrinterOptions {
  json: boolean;
  quiet: boolean;
  /** `false` after `--no-color`. */
  color: boolean | undefined;
}

/** An error as it is printed. */
export interface ErrorReport {
  /** Stable machine word. */
  code: string;
  message: string;
  hint?: string | undefined;
  exitCode: ExitCode;
  /** HTTP status and request id, where the server responded. */
  status?: number | undefined;
  requestId?: string | undefined;
}

/** Schema version of our own JSON objects; see the guide "In CI". */
const JSON_VERSION = 1;

/** Shorter values are no secrets, and hiding them would destroy ordinary words. */
const MIN_SECRET_LENGTH = 8;

/** Signs of success, of something to look at, and of failure. */
const MARKS = {
  success: ['✓', 'green'],
  attention: ['!', 'yellow'],
  failure: ['✗', 'red'],
} as const satisfies Record<string, [sign: string, color: keyof Style]>;

export type Mark = keyof typeof MARKS;

/** Prints data to stdout and messages for people to stderr, and a secret to neither. */
export class Printer {
  readonly options: PrinterOptions;
  /** Colours for stdout. */
  readonly outStyle: Style;
  /** Colours for stderr. */
  readonly errStyle: Style;
  readonly #io: Io;
  readonly #secrets = new Set<string>();

  constructor(io: Io, options: PrinterOptions) {
    this.#io = io;
    this.options = options;
    const styleOf = (stream: OutputStream) =>
      createStyle(wantsColor({ flag: options.color, env: io.env, isTTY: stream.isTTY }));
    this.outStyle = styleOf(io.stdout);
    this.errStyle = styleOf(io.stderr);
  }

  /** From now on `secret` is printed as `****`, also where a server's message or a wrong option echoes it. */
  hide(secret: string | undefined): void {
    if (secret !== undefined && secret.length >= MIN_SECRET_LENGTH) {
      this.#secrets.add(secret);
      this.#secrets.add(JSON.stringify(secret).slice(1, -1));
    }
  }

  redact(text: string): string {
    let redacted = text;
    for (const secret of this.#secrets) {
      redacted = redacted.replaceAll(secret, '****');
    }
    return redacted;
  }

  /** A line, or lines, of data. */
  data(text: string): void {
    this.#io.stdout.write(`${this.redact(text)}\n`);
  }

  /** A value as JSON: on one line into a pipe, indented on a terminal. */
  json(value: unknown, to: 'stdout' | 'stderr' = 'stdout'): void {
    const stream = this.#io[to];
    stream.write(`${this.redact(toSafeJson(value, stream.isTTY === true ? 2 : undefined))}\n`);
  }

  /** A value as JSON on one line of stdout: one of many. */
  jsonLine(value: unknown): void {
    this.data(toSafeJson(value));
  }

  /** Information; `--quiet` leaves it out. */
  note(text: string): void {
    if (!this.options.quiet) {
      this.#line(this.#wrap(text));
    }
  }

  /** How something ended, after its mark; `--quiet` leaves it out. */
  ended(mark: Mark, text: string): void {
    const [sign, color] = MARKS[mark];
    const [first = '', ...more] = this.#wrap(`${sign} ${text}`).split('\n');
    this.drawing([this.errStyle[color](sign) + first.slice(sign.length), ...more].join('\n'));
  }

  /** Text that was drawn by us and may hold colours, such as a table; `--quiet` leaves it out. */
  drawing(text: string): void {
    if (!this.options.quiet) {
      this.#line(text);
    }
  }

  /** A warning, which `--quiet` prints too. */
  warn(text: string): void {
    this.#labelled('warning:', this.errStyle.yellow, text);
  }

  /** A debug line of `--verbose`. */
  trace(text: string): void {
    this.#line(this.errStyle.dim(sanitizeLines(text)));
  }

  /** An error and its hint. With `--json`, one JSON object on one line of stderr. */
  error(report: ErrorReport): void {
    if (this.options.json) {
      const { exitCode, requestId, ...rest } = report;
      const error = { ...rest, exit_code: exitCode, request_id: requestId };
      this.#line(toSafeJson({ version: JSON_VERSION, error }));
      return;
    }
    this.#labelled('error:', this.errStyle.red, report.message);
    if (report.hint !== undefined) {
      this.#line(this.#wrap(report.hint.replace(/^/gm, '  ')));
    }
  }

  /** Columns of the terminal that messages go to; undefined where there is none. */
  get width(): number | undefined {
    return widthOf(this.#io.stderr);
  }

  /** The same for data. */
  get outWidth(): number | undefined {
    return widthOf(this.#io.stdout);
  }

  #labelled(label: string, paint: Paint, text: string): void {
    this.#line(paint(label) + this.#wrap(`${label} ${text}`).slice(label.length));
  }

  #wrap(text: string): string {
    return wrapWords(sanitizeLines(text), this.width);
  }

  #line(text: string): void {
    this.#io.stderr.write(`${this.redact(text)}\n`);
  }
}

function widthOf({ isTTY, columns }: OutputStream): number | undefined {
  return isTTY === true ? columns : undefined;
}

/** Where the client's log lines go: stderr with `--verbose`, nowhere without. */
export function traceLogger(printer: Printer, verbose: boolean): Logger {
  const write = (level: string) => (message: string, fields?: object) => {
    if (verbose) {
      printer.trace(`${level}: ${message}${fields === undefined ? '' : formatFields(fields)}`);
    }
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

function formatFields(fields: object): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${formatValue(value)}`)
    .join('');
}

function formatValue(value: unknown): string {
  if (value instanceof Error) return `${value.name}(${value.message})`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
