import { EXIT_CODES, type ExitCode } from './exit-codes.ts';

/**
 * An error that a user can do something about: `message` says what happened and where, `hint` what to do.
 * Neither may hold an API key.
 */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** Stable machine word of the JSON form. */
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

/** The command line or a setting is wrong: exit code 2. */
export function usageError(message: string, hint?: string): CliError {
  return new CliError(message, { code: 'usage', exitCode: EXIT_CODES.usage, hint });
}

/** No key, or a key that was refused: exit code 4. */
export function authenticationError(message: string, hint?: string): CliError {
  return new CliError(message, {
    code: 'authentication',
    exitCode: EXIT_CODES.authentication,
    hint,
  });
}

/** Ctrl-C, or SIGTERM: exit code 130. */
export function interruptedError(): CliError {
  return new CliError('Interrupted.', { code: 'interrupted', exitCode: EXIT_CODES.interrupted });
}
