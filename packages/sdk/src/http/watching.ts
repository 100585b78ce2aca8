import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { QuotaWindow } from './response-headers.ts';

/** What every event says. */
interface CallEvent {
  /** Identifies the call, over all of its attempts and waits. */
  id: string;
  method: 'GET' | 'POST';
  /** Path of the request, such as `/api/v1/links`. */
  path: string;
}

/** An attempt is about to be sent. */
export interface RequestEvent extends CallEvent {
  /** 1 for the first attempt of a call. */
  attempt: number;
}

/** An attempt got a response, with whatever status; its body has been read. */
export interface ResponseEvent extends RequestEvent {
  status: number;
  /** From sending to the last byte of the body, in milliseconds. */
  durationMs: number;
  /** `X-Request-Id`, where the service sends one. */
  requestId: string | undefined;
  /** What the response says about the account's quota, in the service's order; empty where it says nothing. */
  quota: readonly QuotaWindow[];
}

/** An attempt failed and will be repeated after a wait. */
export interface RetryEvent extends RequestEvent {
  /** Why the attempt failed. */
  error: ShortlinkError;
  /** How long the wait is, in milliseconds. */
  waitMs: number;
}

/** A call is over: it got its response, or it failed. */
export interface EndEvent extends CallEvent {
  /** Attempts that were made; 0 for a call that ended while it waited for a limit. */
  attempts: number;
  /** From the start of the call to its end, waits included, in milliseconds. */
  durationMs: number;
  /** A `ShortlinkError`, or the reason of an abort; undefined where the call succeeded. */
  error: unknown;
}

/** A 429, or a window of the quota that is used up, pauses the whole client. */
export interface CooldownEvent {
  /** The call that met the limit. */
  id: string;
  /** How long nothing is sent, in milliseconds from now. */
  waitMs: number;
  /** The wait the service asked for, in milliseconds; undefined without a 429, or where it can't be read. */
  retryAfterMs: number | undefined;
}

/** Called as things happen. No event holds the API key or a body. What a hook throws is logged as an error, and otherwise ignored. */
export interface ShortlinkHooks {
  onRequest?: ((event: RequestEvent) => void) | undefined;
  onResponse?: ((event: ResponseEvent) => void) | undefined;
  onRetry?: ((event: RetryEvent) => void) | undefined;
  onCooldown?: ((event: CooldownEvent) => void) | undefined;
  onEnd?: ((event: EndEvent) => void) | undefined;
}

/** Receives log lines; `console` fits. Fields never hold the API key or a body. */
export interface Logger {
  debug(message: string, fields?: object): void;
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  error(message: string, fields?: object): void;
}

/** Kinds of log lines, the least important first, and `silent` for none. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Writes a log line. What it returns may be a promise. */
export type Log = (level: keyof Logger, message: string, fields: object) => unknown;

/**
 * The caller's log, or the console, with the lines from `logLevel` on. Without both options, the environment decides. What it
 * says is no reason to fail: `trace` is `debug`, and an unknown word is reported once.
 */
export function makeLog(
  logger: Partial<Logger> | undefined,
  logLevel: LogLevel | undefined,
  fromEnv: string | undefined,
): Log {
  const isFromEnv = logLevel === undefined && logger === undefined;
  const from = LOG_LEVELS.indexOf(isFromEnv ? levelOf(fromEnv) : (logLevel ?? 'debug'));
  const write: Log = logger ? (level, ...line) => logger[level]?.(...line) : toConsole;
  return (level, ...line) => LOG_LEVELS.indexOf(level) >= from && write(level, ...line);
}

function levelOf(setting = 'silent'): LogLevel {
  const word = setting.toLowerCase();
  const level = word === 'trace' ? 'debug' : LOG_LEVELS.find((name) => name === word);
  if (level !== undefined) return level;
  const accepted = LOG_LEVELS.join(', ');
  toConsole('warn', `nothing is logged: SHORTLINK_LOG must be one of ${accepted}`, { setting });
  return 'silent';
}

const toConsole: Log = (level, message, fields) => {
  // biome-ignore lint/suspicious/noConsole: the user asked for these lines
  console[level](`shortlink: ${message}`, fields);
};

type Events = {
  [Hook in keyof ShortlinkHooks]-?: Parameters<NonNullable<ShortlinkHooks[Hook]>>[0];
};

export type Report = <Hook extends keyof Events>(hook: Hook, event: Events[Hook]) => void;

const LINES: Record<keyof Events, [level: keyof Logger, message: string]> = {
  onRequest: ['debug', 'request'],
  onResponse: ['debug', 'response'],
  onRetry: ['info', 'retry'],
  onCooldown: ['warn', 'rate limited, the client pauses'],
  onEnd: ['debug', 'end'],
};

/** Tells the caller's hooks and log what happens. Nothing that they throw gets out. */
export function createReport(hooks: ShortlinkHooks | undefined, log: Log): Report {
  return (hook, event) => {
    const [level, message] = LINES[hook];
    // A logger that fails has nowhere to say so.
    guard(() => log(level, message, fieldsOf(event)));
    guard(
      () => hooks?.[hook]?.(event as never),
      (error) => guard(() => log('error', `${hook} threw`, { error })),
    );
  };
}

/** The fields of a log line. Of an error, which is long, only its message is logged. */
function fieldsOf(event: object): object {
  const { quota: _, error, ...fields }: { quota?: unknown; error?: unknown } = event;
  return error instanceof Error ? { ...fields, reason: `${error.name}: ${error.message}` } : fields;
}

/** Calls what may throw, or return a promise that is rejected, since the types allow an async function. */
function guard(work: () => unknown, onError: (error: unknown) => void = () => undefined): void {
  try {
    const result = work();
    if (result instanceof Promise) result.catch(onError);
  } catch (error) {
    onError(error);
  }
}
