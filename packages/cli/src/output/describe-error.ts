import type { ShortlinkError } from '@shortlink/sdk';
import { CliError, EXIT_CODES, type ExitCode } from '../cli-error.ts';
import { formatCount, formatDuration } from '../format.ts';
import { systemReason } from '../import/errors.ts';
import type { ErrorReport } from './printer.ts';
import { foreign } from './sanitize.ts';

/** What a caught error means to the user, and with which code the process ends. */
export async function describeError(error: unknown): Promise<ErrorReport> {
  if (error instanceof CliError) {
    const { code, message, hint, exitCode } = error;
    return { code, message, hint, exitCode };
  }
  const sdk = await import('@shortlink/sdk');
  for (const describe of clientErrors(sdk)) {
    const report = describe(error);
    if (report === undefined) continue;
    if (!sdk.ApiError.isInstance(error)) return report;
    return { ...report, status: error.status, requestId: error.requestId };
  }
  if (isSystemError(error)) {
    return {
      code: 'system',
      message:
        error.path === undefined
          ? error.message
          : `Can't use ${error.path}: ${systemReason(error)}.`,
      exitCode: error.code === 'ENOENT' ? EXIT_CODES.usage : EXIT_CODES.error,
    };
  }
  return {
    code: 'unexpected',
    message: foreign(error instanceof Error ? `${error.name}: ${error.message}` : String(error)),
    hint: 'This is a bug in shortlink. Run the command again with --verbose for details.',
    exitCode: EXIT_CODES.error,
  };
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

/** A class of the client's errors. */
type Kind<E> = (abstract new (
  ...values: never[]
) => E) &
  Pick<typeof ShortlinkError, 'isInstance' | 'kind'>;

/** Texts are the same for each error of a kind, or made from it. The message of the error itself is the usual one. */
type Text<E> = string | ((error: E) => string);

function kind<E extends ShortlinkError>(
  type: Kind<E>,
  code: string,
  exitCode: ExitCode,
  { message, hint }: { message?: Text<E>; hint?: Text<E> } = {},
): (error: unknown) => ErrorReport | undefined {
  const textOf = (error: E, text: Text<E> | undefined) =>
    typeof text === 'function' ? text(error) : text;
  return (error) => {
    if (!type.isInstance<E>(error)) return undefined;
    const words = textOf(error, message);
    const said = inFlags(foreign(error.message));
    return {
      code,
      message: words === undefined ? said : words.replace('%s', () => said),
      hint: textOf(error, hint),
      exitCode,
    };
  };
}

/**
 * The client's errors in words for people. Subclasses come before their base.
 *
 * @param sdk - a parameter, because the SDK is loaded only where it may be needed
 */
function clientErrors(sdk: typeof import('@shortlink/sdk')) {
  const { error, usage, rowsFailed, authentication, planLimit, rateLimit } = EXIT_CODES;
  return [
    kind(sdk.AuthenticationError, 'authentication', authentication, {
      message: 'The server refused the API key: %s',
      hint: 'See which key is used with: shortlink auth status\nStore another one with: shortlink auth login',
    }),
    kind(sdk.PlanLimitError, 'plan_limit', planLimit, {
      message: ({ used, allowed }) => {
        const isKnown = used !== undefined && allowed !== undefined;
        const counts = isKnown ? ` (${formatCount(used)} of ${formatCount(allowed)} used)` : '';
        return `A limit of the plan is reached${counts}: %s`;
      },
      hint: 'Upgrade the plan, or send less.\nSee what is used with: shortlink usage',
    }),
    kind(sdk.PermissionError, 'permission', authentication, {
      message: ({ code }) =>
        code === DISABLED ? 'The account may not be used: %s' : 'The API key may not do this: %s',
      hint: ({ code }) =>
        code === DISABLED
          ? 'Ask those who run the service why, and to enable the account again.'
          : 'Creating links needs a key with the permission shortlinks:write.',
    }),
    kind(sdk.RateLimitError, 'rate_limit', rateLimit, {
      // The client's own refusal begins with these words already, and knows nothing of the requests before it.
      message: ({ message }) => {
        const [, reason] = /^Rate limited: .* because (.*)$/.exec(message) ?? [];
        return `Rate limited: ${reason === undefined ? '%s' : inFlags(foreign(reason))}`;
      },
      hint: ({ retryAfterMs: wait }) =>
        wait === undefined
          ? 'Try again later.'
          : `The server allows the next request in ${formatDuration(wait)}.`,
    }),
    kind(sdk.NotFoundError, 'not_found', error, {
      message: 'Not found: %s',
      hint: 'Check the id and the base URL, and that the key belongs to the same account.',
    }),
    kind(sdk.BadRequestError, 'invalid_request', usage, {
      message: 'The server refused the request: %s',
    }),
    kind(sdk.ServerError, 'server_error', error, { message: responded }),
    kind(sdk.ApiError, 'api_error', error, { message: responded }),
    kind(sdk.ConnectionError, 'connection', error, {
      hint: 'Check the network, the proxy settings and the base URL.\nSee the settings with: shortlink config list',
    }),
    kind(sdk.TimeoutError, 'timeout', error, {
      hint: 'If the server is only slow, try a longer --timeout.',
    }),
    kind(sdk.JobTimeoutError, 'job_timeout', error, {
      hint: ({ jobId }) =>
        `The job is still running. Wait for it again with: shortlink job wait ${jobId}`,
    }),
    kind(sdk.JobFailedError, 'job_failed', rowsFailed, {
      hint: ({ jobId }) => `See its results with: shortlink job get ${jobId}`,
    }),
    kind(sdk.InvalidOptionError, 'usage', usage),
    kind(sdk.ShortlinkError, 'unexpected_answer', error),
  ];
}

/** What a server calls an account that an operator has disabled. */
const DISABLED = 'account_disabled';

/** The flags that set options of the client. */
const FLAGS: Readonly<Record<string, string>> = {
  apiKey: '--api-key',
  baseUrl: '--base-url',
  timeoutMs: '--timeout',
  maxRetries: '--max-retries',
  maxRetryAfterMs: '--max-wait',
  requestsPerMinute: '--rpm',
  batchSize: '--batch-size',
  concurrency: '--concurrency',
};
const OPTIONS = new RegExp(
  `\\b(${Object.keys(FLAGS).join('|')})\\b(?: is (\\d+)(?= ?$|[.,]))?`,
  'g',
);

/** The client's message in the words of the command line: `maxRetryAfterMs is 90000` is `--max-wait is 90 s`. */
function inFlags(text: string): string {
  return text.replaceAll(OPTIONS, (_, name: string, value: string | undefined) => {
    const shown = name.endsWith('Ms') ? formatDuration(Number(value)) : value;
    return value === undefined ? (FLAGS[name] ?? name) : `${FLAGS[name]} is ${shown}`;
  });
}

function responded({ status }: { status: number }): string {
  return `The server responded with ${status}: %s`;
}
