import { CliError } from '../cli-error.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { systemReason } from '../import/errors.ts';
import { describeServiceError } from './describe-service-error.ts';
import type { ErrorReport } from './printer.ts';

/** What a caught error means to the user, and with which code the process ends. */
export async function describeError(error: unknown): Promise<ErrorReport> {
  if (error instanceof CliError) {
    const { code, message, hint, exitCode } = error;
    return { code, message, hint, exitCode };
  }
  const service = describeServiceError(error, await import('@shortlink/sdk'));
  if (service !== undefined) {
    return service;
  }
  if (isSystemError(error)) {
    return {
      code: 'system',
      message: systemMessage(error),
      exitCode: error.code === 'ENOENT' ? EXIT_CODES.usage : EXIT_CODES.error,
    };
  }
  return {
    code: 'unexpected',
    message: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
    hint: 'This is a fault in shortlink. Run it again with --verbose to see where.',
    exitCode: EXIT_CODES.error,
  };
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

function systemMessage(error: NodeJS.ErrnoException): string {
  return error.path === undefined
    ? error.message
    : `Can't use ${error.path}: ${systemReason(error)}.`;
}
