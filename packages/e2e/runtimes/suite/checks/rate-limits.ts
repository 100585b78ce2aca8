import { type CooldownEvent, RateLimitError, type RetryEvent } from '@shortlink/sdk';
import { assert } from 'chai';
import type { Check } from '../check.ts';
import { rejection } from '../rejection.ts';

const LINK = { target_url: 'https://example.com/' };
/** In milliseconds: runtimes may fire a timer this early, or round their clock by as much. */
const TIMER_SLACK_MS = 5;

/** A 429 response with a `Retry-After`. */
const refusal = (retryAfterSeconds: number) => ({
  method: 'POST',
  fault: { kind: 'answer', status: 429, retryAfterSeconds } as const,
});

export const rateLimitChecks: readonly Check[] = [
  {
    name: 'waits a 429 out, for as long as Retry-After says',
    async run(stage) {
      const server = await stage.startServer({ faults: [refusal(1)] });
      const retries: RetryEvent[] = [];
      const cooldowns: CooldownEvent[] = [];
      const hooks = {
        onRetry: (event: RetryEvent) => retries.push(event),
        onCooldown: (event: CooldownEvent) => cooldowns.push(event),
      };
      const startedAt = performance.now();
      await server.client({ hooks }).links.create(LINK);
      assert.isAtLeast(performance.now() - startedAt, 1_000 - TIMER_SLACK_MS);
      assert.lengthOf(await server.requests(), 2);
      assert.lengthOf(retries, 1);
      assert.instanceOf(retries[0]?.error, RateLimitError);
      assert.containSubset(cooldowns, [{ retryAfterMs: 1_000 }]);
    },
  },
  {
    name: 'fails at once when Retry-After is longer than maxRetryAfterMs',
    async run(stage) {
      const server = await stage.startServer({ faults: [refusal(3_600)] });
      const error = await rejection(server.client().links.create(LINK), RateLimitError);
      assert.containSubset(error, { status: 429, retryAfterMs: 3_600_000 });
      assert.lengthOf(await server.requests(), 1);
    },
  },
  {
    name: "the plan's own 429 says when the window ends",
    async run(stage) {
      const quarterPastNoon = Date.UTC(2030, 0, 1, 12, 15);
      const server = await stage.startServer({
        limits: { requests_per_day: 1 },
        nowMs: quarterPastNoon,
      });
      await server.client().links.create(LINK);
      // This client has seen no response yet, so it doesn't know the quota.
      const error = await rejection(server.client().links.create(LINK), RateLimitError);
      assert.equal(error.retryAfterMs, 11.75 * 3_600_000);
      assert.equal(error.body?.code, 'rate_limited');
    },
  },
  {
    name: 'one 429 pauses the other requests of the client',
    async run(stage) {
      const server = await stage.startServer({ faults: [refusal(1)] });
      let others: Promise<unknown> | undefined;
      const hooks = {
        onCooldown: () => {
          others = Promise.all([shortlink.links.create(LINK), shortlink.links.create(LINK)]);
        },
      };
      const shortlink = server.client({ hooks });
      const startedAt = performance.now();
      await shortlink.links.create(LINK);
      await others;
      assert.isAtLeast(performance.now() - startedAt, 1_000 - TIMER_SLACK_MS);
      assert.isDefined(others);
      assert.lengthOf(await server.requests(), 4);
    },
  },
];
