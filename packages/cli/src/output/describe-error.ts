import { CliError, EXIT_CODES } from '../cli-error.ts';
import { formatCount, formatDuration } from '../format.ts';
import { systemReason } from '../import/errors.ts';
import type { ErrorReport } from './printer.ts';

/** What a caught error means to the user, and with which code the process ends. */
export async function describeError(error: unknown): Promise<ErrorReport> {
  if (error instanceof CliError) {
    const { code, message, hint, exitCode } = error;
    return { code, message, hint, exitCode };
  }
  const service = describeServiceError(error, await import('@shortlink/sdk'));
  if (service !== undefined) return service;
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
    hint: 'This is a bug in shortlink. Run the command again with --verbose for details.',
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

type Sdk = typeof import('@shortlink/sdk');
type Words = Pick<ErrorReport, 'code' | 'message' | 'hint' | 'exitCode'>;

/**
 * The client's errors in words for people; undefined for an error of another kind.
 *
 * @param sdk - a parameter, because the SDK is loaded only where it may be needed
 */
function describeServiceError(error: unknown, sdk: Sdk): ErrorReport | undefined {
  const words = describeResponse(error, sdk) ?? describeFailure(error, sdk);
  if (words === undefined || !sdk.ApiError.isInstance(error)) return words;
  return { ...words, status: error.status, requestId: error.requestId };
}

/** The service responded with an error status. Subclasses come before `ApiError`. */
function describeResponse(error: unknown, sdk: Sdk): Words | undefined {
  if (sdk.AuthenticationError.isInstance(error)) {
    return {
      code: 'authentication',
      message: `The server refused the API key: ${error.message}`,
      hint: 'See which key is used with: shortlink auth status\nStore another one with: shortlink auth login',
      exitCode: EXIT_CODES.authentication,
    };
  }
  if (sdk.PlanLimitError.isInstance(error)) {
    const { used, allowed } = error;
    const counts =
      used !== undefined && allowed !== undefined
        ? ` (${formatCount(used)} of ${formatCount(allowed)} used)`
        : '';
    return {
      code: 'plan_limit',
      message: `A limit of the plan is reached${counts}: ${error.message}`,
      hint: 'Upgrade the plan, or send less.\nSee what is used with: shortlink usage',
      exitCode: EXIT_CODES.planLimit,
    };
  }
  if (sdk.PermissionError.isInstance(error)) {
    return {
      code: 'permission',
      message: `The API key may not do this: ${error.message}`,
      hint: 'Creating links needs a key with the permission shortlinks:write.',
      exitCode: EXIT_CODES.authentication,
    };
  }
  if (sdk.RateLimitError.isInstance(error)) {
    const wait = error.retryAfterMs;
    return {
      code: 'rate_limit',
      message: `Rate limited: ${error.message}`,
      hint:
        wait === undefined
          ? 'Try again later.'
          : `The server allows the next request in ${formatDuration(wait)}.`,
      exitCode: EXIT_CODES.rateLimit,
    };
  }
  if (sdk.NotFoundError.isInstance(error)) {
    return {
      code: 'not_found',
      message: `Not found: ${error.message}`,
      hint: 'Check the id and the base URL, and that the key belongs to the same account.',
      exitCode: EXIT_CODES.error,
    };
  }
  if (sdk.BadRequestError.isInstance(error)) {
    return {
      code: 'invalid_request',
      message: `The server refused the request: ${error.message}`,
      exitCode: EXIT_CODES.usage,
    };
  }
  if (sdk.ApiError.isInstance(error)) {
    return {
      code: sdk.ServerError.isInstance(error) ? 'server_error' : 'api_error',
      message: `The server responded with ${error.status}: ${error.message}`,
      exitCode: EXIT_CODES.error,
    };
  }
  return undefined;
}

/** No response, a response that can't be read, or a job that failed. */
function describeFailure(error: unknown, sdk: Sdk): Words | undefined {
  if (sdk.ConnectionError.isInstance(error)) {
    return {
      code: 'connection',
      message: error.message,
      hint: 'Check the network, the proxy settings and the base URL.\nSee the settings with: shortlink config list',
      exitCode: EXIT_CODES.error,
    };
  }
  if (sdk.TimeoutError.isInstance(error)) {
    return {
      code: 'timeout',
      message: error.message,
      hint: 'If the server is only slow, try a longer --timeout.',
      exitCode: EXIT_CODES.error,
    };
  }
  if (sdk.JobTimeoutError.isInstance(error)) {
    return {
      code: 'job_timeout',
      message: error.message,
      hint: `The job is still running. Wait for it again with: shortlink job wait ${error.jobId}`,
      exitCode: EXIT_CODES.error,
    };
  }
  if (sdk.JobFailedError.isInstance(error)) {
    return {
      code: 'job_failed',
      message: error.message,
      hint: `See its results with: shortlink job get ${error.jobId}`,
      exitCode: EXIT_CODES.rowsFailed,
    };
  }
  if (sdk.InvalidOptionError.isInstance(error)) {
    return { code: 'usage', message: error.message, exitCode: EXIT_CODES.usage };
  }
  if (sdk.ShortlinkError.isInstance(error)) {
    return { code: 'unexpected_answer', message: error.message, exitCode: EXIT_CODES.error };
  }
  return undefined;
}
