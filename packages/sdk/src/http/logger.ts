import { InvalidOptionError } from '../errors/invalid-option-error.ts';
import { readEnv } from './read-env.ts';

/** Where log lines go. `console` is one. Fields never hold the API key or a body. */
export interface Logger {
  debug(message: string, fields?: object): void;
  info(message: string, fields?: object): void;
  warn(message: string, fields?: object): void;
  error(message: string, fields?: object): void;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const satisfies (keyof Logger)[];

/**
 * The logger of a client that was given none: the console from the level in SHORTLINK_LOG on, or undefined, which is
 * silence, where that is not set.
 *
 * @throws InvalidOptionError when SHORTLINK_LOG is no level
 */
export function loggerFromEnv(): Partial<Logger> | undefined {
  const setting = readEnv('SHORTLINK_LOG');
  if (setting === undefined || setting === 'silent') return undefined;
  const names: readonly string[] = LEVELS;
  const from = names.indexOf(setting);
  if (from === -1) {
    throw new InvalidOptionError('SHORTLINK_LOG', `one of ${LEVELS.join(', ')}, silent`);
  }
  const logger: Partial<Logger> = {};
  for (const level of LEVELS.slice(from)) {
    // biome-ignore lint/suspicious/noConsole: the user asked for these lines by SHORTLINK_LOG
    logger[level] = (message, fields) => console[level](`shortlink: ${message}`, fields);
  }
  return logger;
}
