import pRetry from 'p-retry';
import { RateLimitError } from '../errors/rate-limit-error.ts';
import { ShortlinkError } from '../errors/shortlink-error.ts';
import { TimeoutError } from '../errors/timeout-error.ts';
import { ANSWER_SCHEMAS, type Answers } from './answers.ts';
import type { CallOutcome } from './call-outcome.ts';
import { Cooldown } from './cooldown.ts';
import { Pace, type Turn } from './pace.ts';
import type { PreparedCall } from './prepare.ts';
import { Quota } from './quota.ts';
import { parseRateLimit, type QuotaWindow } from './rate-limit-header.ts';
import { readData, readError } from './read-answer.ts';
import { createReporter } from './reporter.ts';
import { askedWaitMs, isRetryable, retryWaitMs } from './retry-policy.ts';
import { send } from './send.ts';
import type { TransportSettings } from './settings.ts';
import { toldRequestsPerMinute } from './told-limit.ts';
import type { TransportParts } from './transport.ts';
import { within } from './within.ts';

/** Makes the attempts of a call, until one succeeds or no other may follow. */
export type RunAttempts = <Name extends keyof Answers>(
  call: PreparedCall<Name>,
  outcome: CallOutcome,
  signal: AbortSignal | undefined,
) => Promise<Answers[Name]>;

/** What the attempts of one client share: the cooldown, the pace, what is known of the quota. */
export function createAttempts(
  settings: TransportSettings,
  { clock, random }: TransportParts,
): RunAttempts {
  const { requestsPerMinute, maxRetryAfterMs } = settings;
  const reporter = createReporter(settings.hooks, settings.logger);
  const cooldown = new Cooldown(clock);
  let pace = requestsPerMinute > 0 ? new Pace(requestsPerMinute, clock) : undefined;
  const quota = new Quota(clock);

  /** Waits until nothing is paused, and pace and quota allow a request. What changed during a wait is looked at again. */
  async function takeTurn(
    { maxRetries }: Pick<PreparedCall<keyof Answers>, 'maxRetries'>,
    signal: AbortSignal | undefined,
  ): Promise<{ sentAt: number; turn: Turn | undefined }> {
    for (;;) {
      // Whoever wants no retries wants to hear of a limit, not to wait for it.
      const short = maxRetries > 0 ? quota.wait(maxRetryAfterMs) : undefined;
      const pausedMs = cooldown.leftMs();
      if (short?.isUsedUp && short.waitMs > pausedMs + 1 && cooldown.extend(short.waitMs)) {
        reporter.cooldown({ waitMs: short.waitMs, retryAfterMs: undefined });
      }
      const waitMs = Math.max(cooldown.leftMs(), pace?.leftMs() ?? 0, short?.waitMs ?? 0);
      if (waitMs <= 0) {
        return { sentAt: quota.take(), turn: pace?.take() };
      }
      await clock.delay(waitMs, signal);
    }
  }

  /** Where neither the caller nor headers say how many requests the service takes, its first 429 does. */
  function learnPace({ message, retryAfterMs, headers }: RateLimitError): void {
    if (pace !== undefined || parseRateLimit(headers).length > 0) return;
    const limit = toldRequestsPerMinute(message, retryAfterMs);
    if (limit !== undefined) pace = new Pace(limit, clock, false);
  }

  async function attempt<Name extends keyof Answers>(
    call: PreparedCall<Name>,
    number: number,
    outcome: CallOutcome,
    signal: AbortSignal | undefined,
  ): Promise<Answers[Name]> {
    const { method, path, timeoutMs, watch } = call;
    const { sentAt, turn } = await takeTurn(call, signal);
    let windows: readonly QuotaWindow[] = [];
    try {
      if (watch !== undefined) {
        await watch.beforeSend();
        signal?.throwIfAborted();
      }
      const event = { method, path, attempt: number };
      reporter.request(event);
      outcome.sending();
      const startedAt = clock.now();
      const timeoutError = () =>
        new TimeoutError(`No whole answer within ${timeoutMs} ms`, {
          outcome: 'unknown',
          timeoutMs,
        });
      const answer = await within({ signal, timeoutMs, timeoutError }, (attemptSignal) =>
        send(call.attempt, attemptSignal),
      );
      const { status, requestId } = answer;
      windows = parseRateLimit(answer.headers);
      const durationMs = clock.now() - startedAt;
      reporter.response({ ...event, status, durationMs, requestId, quota: windows });
      if (status < 200 || status > 299) {
        throw readError(answer, call.attempt.redact, clock.date());
      }
      return readData(answer, ANSWER_SCHEMAS[call.answer]);
    } finally {
      quota.finish(sentAt, windows);
      if (turn !== undefined) pace?.finish(turn);
    }
  }

  /** Waits before the next attempt, or throws what the call ends with. */
  async function afterFailure(
    error: Error,
    call: PreparedCall<keyof Answers>,
    attempts: { number: number; left: number },
    outcome: CallOutcome,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    // Anything else is a defect, and no reason to try again.
    if (!ShortlinkError.isInstance(error)) throw error;
    outcome.failed(error);
    if (!outcome.mayBeDone) call.watch?.nothingDone();
    const retryAfterMs = askedWaitMs(error);
    const waitMs = retryWaitMs(error, attempts.number, random);
    const tooLong = retryAfterMs !== undefined && retryAfterMs > maxRetryAfterMs;
    if (RateLimitError.isInstance(error)) learnPace(error);
    // A wait that this call won't sit out is none for the others either: each of them would hang.
    if (RateLimitError.isInstance(error) && !tooLong && cooldown.extend(waitMs)) {
      reporter.cooldown({ waitMs, retryAfterMs });
    }
    if (tooLong || attempts.left === 0 || !isRetryable(error, call))
      throw outcome.finalError(error);
    const { method, path } = call;
    reporter.retry({ method, path, attempt: attempts.number, error, waitMs });
    await clock.delay(waitMs, signal);
  }

  return (call, outcome, signal) =>
    pRetry((number) => attempt(call, number, outcome, signal), {
      retries: call.maxRetries,
      // p-retry's own waits know nothing of Retry-After; ours is in onFailedAttempt.
      minTimeout: 0,
      ...(signal && { signal }),
      onFailedAttempt: ({ error, attemptNumber: number, retriesLeft: left }) =>
        afterFailure(error, call, { number, left }, outcome, signal),
    });
}
