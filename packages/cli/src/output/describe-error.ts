import { systemReason } from '@shortlink/tables/basics';
import { asCliError, EXIT_CODES, type ExitCode } from '../cli-error.ts';
import { formatCount, formatDuration } from '../format.ts';
import type { ErrorReport } from './printer.ts';
import { foreign } from './sanitize.ts';

/** @param flag - ` --profile NAME`, where the command line has it: what is advised is about the same one */
export async function describeError(error: unknown, flag = ''): Promise<ErrorReport> {
  const known = asCliError(error);
  if (known !== undefined) {
    const { code, message, hint, exitCode } = known;
    return { code, message, hint, exitCode };
  }
  const { ApiError, ShortlinkError } = await import('@shortlink/sdk');
  if (ShortlinkError.isInstance(error)) {
    const said = inFlags(foreign(error.message));
    const fields: Fields = error;
    const { name } = error;
    const isResponse = ApiError.isInstance(error);
    const [code, exitCode] = KINDS[name] ?? [isResponse ? 'api_error' : 'unexpected_answer', 1];
    const usual = isResponse ? `The server responded with ${error.status}: %s` : '%s';
    return {
      ...{ code, exitCode, status: fields.status, requestId: fields.requestId },
      message: textOf(MESSAGES[name] ?? usual, fields)?.replace('%s', () => said) ?? said,
      hint: textOf(HINTS[name], fields)?.replace(/shortlink .*$/gm, (said) => said + flag),
    };
  }
  if (isSystemError(error)) {
    const { path, code, message } = error;
    return {
      code: 'system',
      message: path === undefined ? message : `Can't use ${path}: ${systemReason(error)}.`,
      exitCode: code === 'ENOENT' ? EXIT_CODES.usage : EXIT_CODES.error,
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

/** `code` is the server's own word for it. */
type Fields = { message: string } & Partial<
  Record<'requestId' | 'code' | 'jobId', string | undefined> &
    Record<'status' | 'used' | 'allowed' | 'retryAfterMs', number | undefined>
>;

type Text = string | ((error: Fields) => string);

const textOf = (text: Text | undefined, error: Fields) =>
  typeof text === 'function' ? text(error) : text;

const { error, usage, rowsFailed, authentication, planLimit, rateLimit } = EXIT_CODES;

/** Our word for each error of the client, and the exit code. */
const KINDS: Readonly<Record<string, readonly [code: string, exitCode: ExitCode]>> = {
  AuthenticationError: ['authentication', authentication],
  PlanLimitError: ['plan_limit', planLimit],
  PermissionError: ['permission', authentication],
  RateLimitError: ['rate_limit', rateLimit],
  NotFoundError: ['not_found', error],
  BadRequestError: ['invalid_request', usage],
  ServerError: ['server_error', error],
  ConnectionError: ['connection', error],
  TimeoutError: ['timeout', error],
  JobTimeoutError: ['job_timeout', error],
  JobFailedError: ['job_failed', rowsFailed],
  InvalidOptionError: ['usage', usage],
};

/** What is said in place of the error's own message, which is `%s` in it. */
const MESSAGES: Readonly<Record<string, Text>> = {
  AuthenticationError: 'The server refused the API key: %s',
  PlanLimitError: ({ used, allowed }) => {
    const isKnown = used !== undefined && allowed !== undefined;
    const counts = isKnown ? ` (${formatCount(used)} of ${formatCount(allowed)} used)` : '';
    return `A limit of the plan is reached${counts}: %s`;
  },
  PermissionError: (refusal) =>
    isDisabled(refusal) ? 'The account may not be used: %s' : 'The API key may not do this: %s',
  // The client's own refusal begins with these words already.
  RateLimitError: ({ message }) => {
    const [, reason] = /^Rate limited: .* because (.*)$/.exec(message) ?? [];
    return `Rate limited: ${reason === undefined ? '%s' : inFlags(foreign(reason))}`;
  },
  NotFoundError: 'Not found: %s',
  BadRequestError: 'The server refused the request: %s',
};

const HINTS: Readonly<Record<string, Text>> = {
  AuthenticationError:
    'See which key is used with: shortlink auth status\nStore another one with: shortlink auth login',
  PlanLimitError: 'Upgrade the plan, or send less.\nSee what is used with: shortlink usage',
  PermissionError: (refusal) =>
    isDisabled(refusal)
      ? 'Ask those who run the service why, and to enable the account again.'
      : 'Creating links needs a key with the permission shortlinks:write.',
  RateLimitError: ({ retryAfterMs: wait }) =>
    wait === undefined
      ? 'Try again later.'
      : `The server allows the next request in ${formatDuration(wait)}.`,
  NotFoundError: 'Check the id and the base URL, and that the key belongs to the same account.',
  ConnectionError:
    'Check the network, the proxy settings and the base URL.\nSee the settings with: shortlink config list',
  ResponseShapeError:
    'Something else may answer at this base URL, such as a website.\nSee the settings with: shortlink config list',
  TimeoutError: 'If the server is only slow, try a longer --timeout.',
  JobTimeoutError: ({ jobId }) =>
    `The job is still running. Wait for it again with: shortlink job wait ${jobId}`,
  JobFailedError: ({ jobId }) => `See its results with: shortlink job get ${jobId}`,
};

/** An operator has disabled the account. */
function isDisabled({ code }: Fields): boolean {
  return code === 'account_disabled';
}

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
const NAMES = Object.keys(FLAGS).join('|');
const OPTIONS = new RegExp(`\\b(${NAMES})\\b(?: is (\\d+)(?= ?$|[.,]))?`, 'g');

/** The client's message in the words of the command line: `maxRetryAfterMs is 90000` is `--max-wait is 90 s`. */
function inFlags(text: string): string {
  return text.replaceAll(OPTIONS, (_, name: string, value: string | undefined) => {
    const shown = name.endsWith('Ms') ? formatDuration(Number(value)) : value;
    return value === undefined ? (FLAGS[name] ?? name) : `${FLAGS[name]} is ${shown}`;
  });
}
