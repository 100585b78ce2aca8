import type { Logger } from '@shortlink/sdk';
import type { CliError } from '../cli-error.ts';
import type { Io, OutputStream } from '../io.ts';
import type { JsonEvent } from './json-events.ts';
import { foreign, sanitize, sanitizeLines, toSafeJson } from './sanitize.ts';
import { type Paint, type Style, styleOf, toAscii, wantsAscii } from './style.ts';
import { wrapWords } from './wrap.ts';

export interface PrinterOptions {
  json?: boolean | undefined;
  quiet?: boolean | undefined;
  color?: boolean | undefined;
}

export interface ErrorReport
  extends Pick<CliError, 'code' | 'message' | 'exitCode'>,
    Partial<Pick<CliError, 'hint'>> {
  status?: number | undefined;
  requestId?: string | undefined;
}

/** Shorter values are no secrets, and hiding them would destroy ordinary words. */
const MIN_SECRET_LENGTH = 8;

const MARKS = {
  success: ['✓', 'green'],
  attention: ['!', 'yellow'],
  failure: ['✗', 'red'],
} as const satisfies Record<string, [sign: string, color: keyof Style]>;

export type Mark = keyof typeof MARKS;

/** Prints data to stdout and messages for people to stderr, and a secret to neither. */
export class Printer {
  readonly options: PrinterOptions;
  readonly outStyle: Style;
  readonly errStyle: Style;
  readonly #io: Io;
  readonly #isAscii: boolean;
  readonly #secrets = new Set<string>();

  constructor(io: Io, options: PrinterOptions) {
    this.#io = io;
    this.options = options;
    this.#isAscii = wantsAscii(io.env);
    this.outStyle = styleOf(io.stdout, io.env, options.color);
    this.errStyle = styleOf(io.stderr, io.env, options.color);
  }

  /** From now on `secret` is printed as `****`, also where a server's message or a wrong option echoes it. */
  hide(secret: string | undefined): void {
    if (secret !== undefined && secret.length >= MIN_SECRET_LENGTH) {
      this.#secrets.add(secret);
      this.#secrets.add(JSON.stringify(secret).slice(1, -1));
    }
  }

  redact(text: string): string {
    return [...this.#secrets].reduce((shown, secret) => shown.replaceAll(secret, '****'), text);
  }

  data(text: string): void {
    const { stdout } = this.#io;
    stdout.write(`${stdout.isTTY === true ? this.signs(this.redact(text)) : this.redact(text)}\n`);
  }

  /** Prints JSON on one line into a pipe, and where it is one of many (`isLine`); else indented on a terminal. */
  json(value: unknown, isLine = false): void {
    this.data(toSafeJson(value, this.#io.stdout.isTTY === true && !isLine ? 2 : undefined));
  }

  /** Prints the value with `--json`, else the text. */
  result(value: object, text: string): void {
    if (this.options.json) this.json(value);
    else this.data(text);
  }

  /** Prints a summary with `--json`. Where the results of one of `files` take stdout, it is an event. */
  summary(value: object, files: readonly { output: string }[]): void {
    if (!this.options.json) return;
    if (files.some(({ output }) => output === '-')) this.event({ event: 'summary', ...value });
    else this.json(value);
  }

  event(event: JsonEvent): void {
    this.#line(toSafeJson(event));
  }

  /** `--quiet` leaves it out. */
  note(text: string): void {
    if (this.options.quiet) return;
    if (this.options.json) this.event({ event: 'note', message: text.replace(/^ +/gm, '') });
    else this.#line(this.#wrap(text));
  }

  /** `--quiet` leaves it out. */
  ended(mark: Mark, text: string): void {
    if (this.options.json) {
      this.note(text);
      return;
    }
    const [sign, color] = MARKS[mark];
    this.drawing(this.#labelled(sign, this.errStyle[color], text));
  }

  /** Text that may hold colours, such as a table; `--quiet` and `--json` leave it out. */
  drawing(text: string): void {
    if (!this.options.quiet && !this.options.json) this.#line(text);
  }

  /** `--quiet` prints it too. */
  warn(text: string): void {
    if (this.options.json) this.event({ event: 'warning', message: text });
    else this.#line(this.#labelled('warning:', this.errStyle.yellow, sanitize(text)));
  }

  log(level: string, message: string, fields: object = {}): void {
    const shown = Object.entries(fields).flatMap(([name, value]) => {
      const text = value instanceof Error ? `${value.name}(${value.message})` : value;
      return text === undefined ? [] : [[name, typeof text === 'string' ? foreign(text) : text]];
    });
    if (this.options.json) {
      this.event({ event: 'log', level, message, fields: Object.fromEntries(shown) });
      return;
    }
    const words = shown.map(([name, value]) => {
      return ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`;
    });
    this.#line(this.errStyle.dim(sanitizeLines(`${level}: ${message}${words.join('')}`)));
  }

  error(report: ErrorReport): void {
    if (this.options.json) {
      const { exitCode, requestId, ...rest } = report;
      const error = { ...rest, exit_code: exitCode, request_id: requestId };
      this.event({ event: 'error', version: 1, error });
      return;
    }
    this.#line(this.#labelled('error:', this.errStyle.red, sanitize(report.message)));
    if (report.hint !== undefined) this.#line(this.#wrap(report.hint.replace(/^/gm, '  ')));
  }

  /** Undefined where there is no terminal. */
  get width(): number | undefined {
    return widthOf(this.#io.stderr);
  }

  get outWidth(): number | undefined {
    return widthOf(this.#io.stdout);
  }

  /** A text behind a label. One of somebody else must not look like a hint or an error of ours. */
  #labelled(label: string, paint: Paint, text: string): string {
    return paint(label) + this.#wrap(`${label} ${text}`).slice(label.length);
  }

  #wrap(text: string): string {
    return wrapWords(this.signs(sanitizeLines(text)), this.width);
  }

  #line(text: string): void {
    this.#io.stderr.write(`${this.signs(this.redact(text))}\n`);
  }

  /** The text with the signs that the terminal can show. */
  signs(text: string): string {
    return this.#isAscii && !this.options.json ? toAscii(text) : text;
  }
}

function widthOf({ isTTY, columns }: OutputStream): number | undefined {
  return isTTY === true ? columns : undefined;
}

/** Log lines of the client go to stderr with `--verbose`, nowhere without. */
export function traceLogger(printer: Printer, verbose: boolean): Logger {
  const write = (level: string) => (message: string, fields?: object) => {
    if (verbose) printer.log(level, message, fields);
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
