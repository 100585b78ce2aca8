import { ShortlinkError } from '../errors/shortlink-error.ts';
import type { RequestOptions } from '../options.ts';
import type { Answers } from './answers.ts';
import type { AttemptWatch } from './attempt-watch.ts';
import type { RunAttempts } from './attempts.ts';
import { CallOutcome } from './call-outcome.ts';
import { type Clock, systemClock } from './clock.ts';
import { loadPart } from './load-part.ts';
import { createPrepare, type PreparedCall } from './prepare.ts';
import { recaptureStack } from './recapture-stack.ts';
import type { TransportSettings } from './settings.ts';
import { within } from './within.ts';

/** One logical request: what a resource's method asks for, whatever attempts it takes. */
export interface TransportRequest<Name extends keyof Answers> {
  method: 'GET' | 'POST';
  /** From the service's root, such as `/api/v1/links`. */
  path: string;
  /** JSON. */
  body?: string | undefined;
  /** What a 2xx answer must be. */
  answer: Name;
  options?: RequestOptions | undefined;
  watch?: AttemptWatch | undefined;
}

/** Sends requests: attempts, waits, limits and errors are its business, resources only name what they want. */
export interface Transport {
  /**
   * @throws the classes of errors/; the signal's reason when `options.signal` is aborted
   */
  request<Name extends keyof Answers>(request: TransportRequest<Name>): Promise<Answers[Name]>;

  /**
   * Loads a part of the client that is about to send requests, and at the same time what sends them.
   *
   * @throws as {@link Transport.request} does, where nothing was sent
   */
  load<T>(part: () => Promise<T>, signal: AbortSignal | undefined): Promise<T>;
}

/** What tests replace. */
export interface TransportParts {
  clock: Clock;
  /** From 0 to below 1. */
  random: () => number;
}

/**
 * The transport of one client. Its settings, and in them the API key, live in this closure, where no inspection,
 * serialization or clone of the client gets at them.
 *
 * What makes the attempts is loaded with the first request, ky and zod with it: that is three quarters of the code that a
 * request needs, and in Node ky alone takes 23 ms to load, since it looks at `Request`.
 */
export function createTransport(
  settings: TransportSettings,
  parts: TransportParts = { clock: systemClock, random: Math.random },
): Transport {
  const { timeoutMs, maxRetries } = settings;
  const prepare = createPrepare(settings);
  let runAttempts: RunAttempts | undefined;

  async function loadAttempts(): Promise<RunAttempts> {
    const { createAttempts } = await import('./attempts.ts');
    // Requests that are made while it loads share one.
    runAttempts ??= createAttempts(settings, parts);
    return runAttempts;
  }

  async function run<Name extends keyof Answers>(call: PreparedCall<Name>): Promise<Answers[Name]> {
    const { totalTimeoutMs } = call;
    const outcome = new CallOutcome(call);
    const attempts = async (signal: AbortSignal | undefined) => {
      const runCall = runAttempts ?? (await loadPart(loadAttempts, { ...call, signal }, parts));
      return await runCall(call, outcome, signal);
    };
    // Awaited, not only returned: one that has failed already would be unhandled for a moment, and workerd reports that.
    if (totalTimeoutMs === 0) return await attempts(call.signal);
    const timeoutError = () => outcome.timeoutError(totalTimeoutMs);
    return await within({ signal: call.signal, timeoutMs: totalTimeoutMs, timeoutError }, attempts);
  }

  return {
    async request(request) {
      try {
        return await run(prepare(request));
      } catch (error) {
        // The reason of an abort is the caller's, whatever it is.
        const isAbort = error === request.options?.signal?.reason;
        if (!isAbort && ShortlinkError.isInstance(error)) recaptureStack(error);
        throw error;
      }
    },
    async load(part, signal) {
      const both = async () => (await Promise.all([part(), loadAttempts()]))[0];
      return await loadPart(both, { signal, timeoutMs, maxRetries }, parts);
    },
  };
}
