import process, { stderr } from 'node:process';
import type { Writable } from 'node:stream';
import { setImmediate } from 'node:timers';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from './setting-values.ts';

export type { Logger };

/** Names under which a secret could slip into a log line; whatever stands there is not written. */
const SECRET_FIELDS = ['key', 'apiKey', 'headers', '*.key', '*.apiKey', '*.headers'];

/**
 * A logger that writes one JSON object per line: ids, routes and statuses; never API keys, request bodies or query strings.
 *
 * @param write receives whole lines. @default standard error; lines are dropped and counted while it isn't read
 */
export function createLogger(level: LogLevel, write?: (line: string) => void): Logger {
  const redact = { paths: SECRET_FIELDS, remove: true };
  const formatters = { level: (label: string) => ({ level: label }) };
  const options = { level, redact, formatters, base: null, timestamp: stdTimeFunctions.isoTime };
  return pino(options, { write: write ?? boundedWriter(stderr) });
}

/** Text that may wait for the reader of the log: some five thousand lines. */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Writes lines to a stream, those of a turn of the event loop together, without waiting for it. While its reader stalls, lines beyond a bound are
 * dropped; later one line says how many.
 */
export function boundedWriter(stream: Writable): (line: string) => void {
  let dropped = 0;
  let ofThisTurn = '';
  // A reader that went away is no reason to stop serving.
  stream.on('error', () => undefined);
  process.once('exit', flush);
  return (line) => {
    if (stream.writableLength + ofThisTurn.length + line.length > MAX_WAITING_BYTES) {
      if (dropped === 0) stream.once('drain', tell);
      dropped += 1;
      return;
    }
    if (ofThisTurn === '') setImmediate(flush);
    ofThisTurn += line;
  };

  function flush(): void {
    if (ofThisTurn !== '') stream.write(ofThisTurn);
    ofThisTurn = '';
  }

  function tell(): void {
    const lines = `{"level":"warn"${stdTimeFunctions.isoTime()},"dropped":${dropped},"msg":"log lines dropped, because they were not read in time"}\n`;
    dropped = 0;
    stream.write(lines);
  }
}

/** How often something that keeps failing is logged, in milliseconds. */
const INTERVAL_MS = 60_000;

/** Outages that are logged in this time: something may fail and work alternately. */
const OUTAGES_PER_INTERVAL = 3;

/** Logs what may fail many times a second while the database is away: the first failure, one a minute with the number of the others, and the end. */
export class OutageLog {
  readonly #what: string;
  readonly #logger: Pick<Logger, 'error' | 'info'> | undefined;
  readonly #now: () => number;
  #loggedAt = Number.NEGATIVE_INFINITY;
  /** When the last outages began. */
  #begunAt = Array<number>(OUTAGES_PER_INTERVAL).fill(Number.NEGATIVE_INFINITY);
  #notLogged = 0;
  isFailing = false;

  /**
   * @param what - What fails, as the subject of the log lines, such as `writing clicks`
   * @param now - Milliseconds, never going back
   */
  constructor(
    what: string,
    logger: Pick<Logger, 'error' | 'info'> | undefined,
    now = () => performance.now(),
  ) {
    this.#what = what;
    this.#logger = logger;
    this.#now = now;
  }

  failed(error: unknown, fields: object = {}): void {
    const now = this.#now();
    const since = this.isFailing ? this.#loggedAt : (this.#begunAt[0] ?? 0);
    if (now - since < INTERVAL_MS) {
      this.#notLogged += 1;
      return;
    }
    const line = { err: error, ...fields, not_logged: this.#notLogged };
    this.#logger?.error(line, `${this.#what} failed`);
    if (!this.isFailing) this.#begunAt = [...this.#begunAt.slice(1), now];
    this.#loggedAt = now;
    this.#notLogged = 0;
    this.isFailing = true;
  }

  /** To be called after every success. */
  succeeded(): void {
    if (!this.isFailing) return;
    this.isFailing = false;
    this.#logger?.info({ not_logged: this.#notLogged }, `${this.#what} works again`);
    this.#notLogged = 0;
  }
}
