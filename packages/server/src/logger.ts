import { destination, type Logger, pino } from 'pino';

/** Levels of `SHORTLINK_LOG_LEVEL`, most urgent first. Single redirects are logged at `debug`. */
export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type { Logger };

/** Names under which a secret could slip into a log line; whatever stands there is not written. */
const SECRET_FIELDS = ['key', 'apiKey', 'headers', '*.key', '*.apiKey', '*.headers'];

/**
 * A logger that writes one JSON object per line. The service logs ids, routes and statuses; never API keys,
 * request bodies or query strings.
 *
 * @param write receives whole lines. @default standard error, since standard output carries data only
 */
export function createLogger(level: LogLevel, write?: (line: string) => void): Logger {
  const stream = write === undefined ? destination({ fd: 2, sync: true }) : { write };
  const redact = { paths: SECRET_FIELDS, remove: true };
  const formatters = { level: (label: string) => ({ level: label }) };
  return pino({ level, redact, formatters, base: null, timestamp: isoTime }, stream);
}

function isoTime(): string {
  return `,"time":"${new Date().toISOString()}"`;
}

export function isLogLevel(text: string): text is LogLevel {
  return LOG_LEVELS.some((level) => level === text);
}
