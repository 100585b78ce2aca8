import { InputError } from '@shortlink/tables/basics';
import type { ImportSummary } from './import/types.ts';

/** Scripts rely on them: a code never changes its meaning. */
export const EXIT_CODES = {
  /** Everything asked for was done. Rows that `--limit` leaves were not asked for. */
  ok: 0,
  /** Something unexpected: a lost connection, a server fault, a full disk. */
  error: 1,
  /** Wrong usage, a bad setting, or an input that can't be imported. */
  usage: 2,
  /** Finished, but some rows were rejected or failed. */
  rowsFailed: 3,
  /** No key, a wrong key, or one without the permission. */
  authentication: 4,
  /** A limit of the plan is reached. */
  planLimit: 5,
  /** The rate limit's wait is longer than we may wait. */
  rateLimit: 6,
  /** It can't be known whether some links were created. */
  unknownFate: 7,
  /** A file asks for links that don't exist yet, though `--expect-no-changes` was given. */
  changes: 8,
  /** Ctrl-C, SIGTERM or SIGHUP (128 + SIGINT, as shells count). */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

/** The exit codes of an import that ended before every row had its link, by the reason. */
const STOP_EXIT_CODES = {
  rejects: EXIT_CODES.usage,
  authentication: EXIT_CODES.authentication,
  plan_limit: EXIT_CODES.planLimit,
  rate_limit: EXIT_CODES.rateLimit,
  unknown: EXIT_CODES.unknownFate,
  interrupted: EXIT_CODES.interrupted,
  error: EXIT_CODES.error,
} as const;

export type StopReason = keyof typeof STOP_EXIT_CODES;

type Counts = Pick<ImportSummary, 'rejected' | 'failed' | 'unknown' | 'stopped'>;

/** The exit code of a run that creates links. */
export function exitCodeOf(summary: Counts): ExitCode {
  if (summary.stopped !== undefined) return STOP_EXIT_CODES[summary.stopped.reason];
  if (summary.unknown > 0) return EXIT_CODES.unknownFate;
  return summary.rejected + summary.failed > 0 ? EXIT_CODES.rowsFailed : EXIT_CODES.ok;
}

/** An error that a user can do something about: `hint` says what. Neither text may hold an API key. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** Stable word of the JSON form. */
  readonly code: string;
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;

  constructor(
    message: string,
    options: { code: string; exitCode: ExitCode; hint?: string | undefined; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.code = options.code;
    this.exitCode = options.exitCode;
    this.hint = options.hint;
  }
}

/** An error of the command line or of an input, with its exit code. Undefined for any other error. */
export function asCliError(error: unknown): CliError | undefined {
  if (error instanceof CliError) return error;
  if (!(error instanceof InputError)) return undefined;
  const { message, code, hint, cause } = error;
  const exitCode = code === 'system' ? EXIT_CODES.error : EXIT_CODES.usage;
  return new CliError(message, { code, exitCode, hint, cause });
}

/** Whether it is an error of the system with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  const found = error instanceof Error && 'code' in error && error.code;
  return codes.some((code) => code === found);
}

/** The word is also the name of the exit code. */
function errorOf(code: keyof typeof EXIT_CODES) {
  const exitCode = EXIT_CODES[code];
  return (message: string, hint?: string) => new CliError(message, { code, exitCode, hint });
}

export const usageError = errorOf('usage');

export const authenticationError = errorOf('authentication');

export const interruptedError = () => errorOf('interrupted')('Interrupted.');
