import { assert } from 'chai';
import type { Check } from '../check.ts';
import { rejectionReason } from '../rejection.ts';
import { clientOf } from '../stage.ts';

const LINK = { target_url: 'https://example.com/' };
/** In milliseconds. An aborted call would otherwise last 20 s and more, so a call that ends within this time was ended by the abort. */
const AT_ONCE_MS = 2_000;

export const abortChecks: readonly Check[] = [
  {
    name: 'an abort ends a request that waits for its answer',
    async run(stage) {
      const fault = { kind: 'delay', ms: 20_000 } as const;
      const server = await stage.startServer({ faults: [{ method: 'POST', fault }] });
      await expectAbort((signal, abort) => {
        void server.received(1).then(abort);
        return server.client().links.create(LINK, { signal });
      });
      assert.lengthOf(await server.requests(), 1);
    },
  },
  {
    name: 'an abort ends a request in the middle of its body',
    async run(stage) {
      const shortlink = clientOf(await stage.startStallingServer());
      await expectAbort((signal, abort) => {
        setTimeout(abort, 200);
        return shortlink.links.create(LINK, { signal });
      });
    },
  },
  {
    name: 'an abort ends the wait before a retry',
    async run(stage) {
      const fault = { kind: 'answer', status: 429, retryAfterSeconds: 60 } as const;
      const server = await stage.startServer({ faults: [{ method: 'POST', fault }] });
      await expectAbort((signal, abort) => {
        const hooks = { onRetry: () => setTimeout(abort, 20) };
        return server.client({ hooks }).links.create(LINK, { signal });
      });
      assert.lengthOf(await server.requests(), 1);
    },
  },
  {
    name: 'an abort ends the wait before a poll',
    async run(stage) {
      const server = await stage.startServer();
      // The first poll comes 150 ms later at the earliest.
      await expectAbort((signal, abort) => {
        setTimeout(abort, 20);
        return server.client().jobs.wait('some-job', { signal });
      });
      assert.isEmpty(await server.requests());
    },
  },
  {
    name: 'nothing is sent with a signal that is aborted already',
    async run(stage) {
      const server = await stage.startServer();
      const reason = new Error('too late');
      const { links, jobs, usage } = server.client();
      const aborted = { signal: AbortSignal.abort(reason) };
      const calls = [
        () => links.create(LINK, aborted),
        () => links.createBatch({ links: [LINK] }, { ...aborted, totalTimeoutMs: 20_000 }),
        () => jobs.retrieve('some-job', aborted),
        () => jobs.wait('some-job', aborted),
        () => usage.retrieve(aborted),
      ];
      for (const call of calls) assert.strictEqual(await rejectionReason(call()), reason);
      assert.isEmpty(await server.requests());
    },
  },
];

/** Aborts the call at the moment that it names, and expects it to reject at once with the signal's own reason. */
async function expectAbort(
  call: (signal: AbortSignal, abort: () => void) => Promise<unknown>,
): Promise<void> {
  const controller = new AbortController();
  const reason = { why: 'the caller has other plans' };
  let abortedAt = Number.NaN;
  const abort = () => {
    abortedAt = performance.now();
    controller.abort(reason);
  };
  assert.strictEqual(await rejectionReason(call(controller.signal, abort)), reason);
  assert.isBelow(performance.now() - abortedAt, AT_ONCE_MS);
}
