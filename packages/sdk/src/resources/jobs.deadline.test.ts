import { describe, expect, it } from 'vitest';
import { json } from '../../test/answers.ts';
import { InstantClock } from '../../test/fake-clock.ts';
import { makeClient } from '../../test/make-client.ts';

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
