import { BULK, HTTP, type Mutant, mutant, SEND } from './mutant.ts';

/** What must not be sent, or not yet. */
export const REQUESTS: readonly Mutant[] = [
  mutant(
    'lost POST sent again',
    `${HTTP}/retry.ts`,
    "(isRepeatable || error.outcome === 'not-sent');\n  }\n  if (TimeoutError",
    'true;\n  }\n  if (TimeoutError',
  ),
  mutant(
    'POST sent again after a timeout',
    `${HTTP}/retry.ts`,
    "return isRepeatable || error.outcome === 'not-sent';",
    'return true;',
  ),
  mutant(
    'POST sent again after a 5xx',
    `${HTTP}/retry.ts`,
    'return isRepeatable && mayPass',
    'return mayPass',
  ),
  mutant(
    'POST sent again after a plain 503',
    `${HTTP}/retry.ts`,
    'error.status === 503 && saysWhen',
    'error.status === 503',
  ),
  mutant(
    '5xx taken for nothing done',
    'sdk/src/errors/call-errors.ts',
    'return !(error.status === 503',
    'return false && !(error.status === 503',
  ),
  mutant(
    'timeout taken for not sent',
    `${HTTP}/send.ts`,
    "{ outcome: 'unknown', timeoutMs }",
    "{ outcome: 'not-sent', timeoutMs }",
  ),
  mutant(
    'Retry-After ignored',
    `${HTTP}/retry.ts`,
    'Math.max(askedWaitMs(error), backoffMs(attempt, random))',
    'backoffMs(attempt, random)',
  ),
  mutant(
    'Retry-After cut short',
    `${HTTP}/response-headers.ts`,
    'Math.ceil(Number(value) * 1000)',
    'Math.ceil(Number(value) * 900)',
  ),
  mutant(
    '429 pauses one request only',
    `${HTTP}/transport.ts`,
    'limiter.pause(waitMs, error.retryAfterMs, call.onPause);',
    '',
  ),
  mutant(
    'quota used once too often',
    `${HTTP}/limiter.ts`,
    'this.#sent < window.last) continue',
    'this.#sent <= window.last) continue',
  ),
  mutant(
    'window ends too early',
    `${HTTP}/limiter.ts`,
    'endsAt: countedAt + resetMs,',
    'endsAt: countedAt + resetMs / 2,',
  ),
  mutant(
    'pace without a window',
    `${HTTP}/limiter.ts`,
    'Math.max(this.#nextAt, windowEnd)',
    'this.#nextAt',
  ),
  mutant(
    'refused key does not end the run',
    `${BULK}/batch-life.ts`,
    "type: 'unsent', error });\n      this.#run.endWith(error);",
    "type: 'unsent', error });",
  ),
  mutant(
    "plan's batch size ignored",
    'cli/src/import/check/forecast.ts',
    'Math.min(size, usage?.batch_size ?? size)',
    'size',
  ),
  mutant(
    'another key for the same batch',
    `${SEND}/settle-open.ts`,
    'idempotencyKey: () => idempotencyKey,',
    "idempotencyKey: () => idempotencyKey.concat('-2'),",
  ),
  mutant('key trusted for too long', `${SEND}/settle-open.ts`, '23 * 60', '50 * 60'),
  mutant(
    'skip taken for retry',
    `${SEND}/settle-open.ts`,
    "const isRetry = settings.onUnknown === 'retry';",
    "const isRetry = settings.onUnknown !== 'stop';",
  ),
];
