import { describe, expect, it } from 'vitest';
import { json } from '../../test/answers.ts';
import { InstantClock } from '../../test/fake-clock.ts';
import { makeClient } from '../../test/make-client.ts';
import { AuthenticationError } from '../errors/api-errors.ts';
import { isOutcomeUnknown } from '../errors/call-errors.ts';

/** A clock like that of a runtime: its times have fractions, and its timers may fire a part of a millisecond early. */
class FractionalClock extends InstantClock {
  override now(): number {
    return super.now() + 0.1;
  }

  override delay(ms: number, signal?: AbortSignal): Promise<void> {
    return super.delay(Math.max(0, Math.ceil(ms) - 0.3), signal);
  }
}

/** Waits for a job that never ends, and says when it was polled. */
async function waitInVain(timeoutMs: number, makeResponse: () => Response) {
  const clock = new FractionalClock();
  const polledAt: number[] = [];
  const fetch = async () => {
    polledAt.push(clock.now());
    return makeResponse();
  };
  const { jobs } = makeClient({ fetch, maxRetries: 0 }, { clock });
  const end: unknown = await jobs.wait('j', { timeoutMs }).catch((error: unknown) => error);
  return { end, polledAt };
}

describe('the deadline of jobs.wait on a clock with fractions of a millisecond', () => {
  it.each([
    ['processing', () => json({ id: 'j', status: 'processing', total: 3, processed: 1 })],
    ['not reached', () => json({ error: 'down' }, 503)],
  ])('is not followed by another poll of a job that is %s', async (_, makeResponse) => {
    for (const timeoutMs of [1_000, 2_500, 10_000]) {
      const { end, polledAt } = await waitInVain(timeoutMs, makeResponse);
      expect(end).toMatchObject({ name: 'JobTimeoutError', timeoutMs });
      const late = polledAt.filter((at) => at > timeoutMs - 1);
      expect(late).toHaveLength(1);
    }
  });
});

describe('an error that ends the wait for an accepted job', () => {
  const end = async (makeResponse: () => Response, timeoutMs = 1_000) => {
    const { jobs } = makeClient({ fetch: async () => makeResponse() });
    return await jobs.wait('j', { timeoutMs }).catch((error: unknown) => error);
  };
  const job = (status: string) => json({ id: 'j', status, total: 3, processed: 1 });

  it.each([
    ['JobTimeoutError', () => job('processing')],
    ['JobFailedError', () => job('failed')],
    ['AuthenticationError', () => json({ error: 'no' }, 401)],
    ['RateLimitError', () => json({ error: 'no' }, 429, { 'Retry-After': '86400' })],
    ['NotFoundError', () => json({ error: 'no' }, 404)],
    ['ApiError', () => json({ error: 'no' }, 418)],
  ])('leaves the outcome unknown and names the job: %s', async (name, makeResponse) => {
    const error = await end(makeResponse);
    expect(error).toMatchObject({ name, jobId: 'j' });
    expect(isOutcomeUnknown(error)).toBe(true);
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ jobId: 'j' });
  });

  it('is the reason of an abort itself, which names nothing', async () => {
    const { jobs } = makeClient({ fetch: async () => job('processing') });
    const reason = new AuthenticationError({
      message: 'mine',
      status: 401,
      headers: new Headers(),
    });
    await expect(jobs.wait('j', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(reason.jobId).toBeUndefined();
  });

  it('says nothing of a job where its own options are wrong, or where the same error ends a create', async () => {
    const { jobs, links } = makeClient({ fetch: async () => json({ error: 'no' }, 401) });
    const errors = [
      await jobs.wait('..').catch((error: unknown) => error),
      await jobs.wait('j', { timeoutMs: -1 }).catch((error: unknown) => error),
      await links.create({ target_url: 'x' }).catch((error: unknown) => error),
    ];
    for (const error of errors) expect(isOutcomeUnknown(error)).toBe(false);
  });
});
