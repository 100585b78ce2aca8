import { ConnectionError, TimeoutError } from '@shortlink/sdk';
import { assert } from 'chai';
import type { Check } from '../check.ts';
import { rejection } from '../rejection.ts';
import { clientOf, type SeenRequest, type StagedServer } from '../stage.ts';

const LINK = { target_url: 'https://example.com/' };

export const connectionChecks: readonly Check[] = [
  {
    name: 'a refused connection is a ConnectionError',
    async run(stage, runtime) {
      const shortlink = clientOf(await stage.freeAddress(), { maxRetries: 1 });
      const error = await rejection(shortlink.links.create(LINK), ConnectionError);
      assert.equal(error.outcome, runtime.tellsNotSent ? 'not-sent' : 'unknown');
    },
  },
  {
    name: 'a POST whose connection is lost is not sent again',
    async run(stage, runtime) {
      const fault = { kind: 'drop', when: 'after' } as const;
      const faults = [{ method: 'POST', fault, times: Number.MAX_SAFE_INTEGER }];
      const server = await stage.startServer({ faults });
      const shortlink = server.client();
      // The next request reuses this connection. Some runtimes repeat a request by themselves when a reused connection is lost.
      await shortlink.usage.retrieve();
      const error = await rejection(shortlink.links.create(LINK), ConnectionError);
      assert.equal(error.outcome, 'unknown');
      const sent = runtime.repeatsLostPosts ? 2 : 1;
      assert.lengthOf(await posts(server), sent);
      assert.equal((await shortlink.usage.retrieve()).links.used, sent);
    },
  },
  {
    name: 'a GET whose connection is lost is sent again',
    async run(stage) {
      const fault = { kind: 'drop', when: 'before' } as const;
      const server = await stage.startServer({ faults: [{ method: 'GET', fault }] });
      assert.equal((await server.client().usage.retrieve()).plan, 'custom');
    },
  },
  {
    name: 'the timeout covers an answer that does not begin',
    async run(stage) {
      const fault = { kind: 'delay', ms: 20_000 } as const;
      const server = await stage.startServer({ faults: [{ method: 'POST', fault }] });
      const creating = server.client({ timeoutMs: 300 }).links.create(LINK);
      const error = await rejection(creating, TimeoutError);
      assert.containSubset(error, { timeoutMs: 300, outcome: 'unknown' });
      // There is no such request where the machine is too busy to send it in time.
      assert.isAtMost((await server.requests()).length, 1);
    },
  },
  {
    name: 'the timeout covers a body that does not end',
    async run(stage) {
      const shortlink = clientOf(await stage.startStallingServer(), { timeoutMs: 300 });
      const error = await rejection(shortlink.links.create(LINK), TimeoutError);
      assert.containSubset(error, { timeoutMs: 300, outcome: 'unknown' });
    },
  },
];

async function posts(server: StagedServer): Promise<SeenRequest[]> {
  return (await server.requests()).filter((request) => request.method === 'POST');
}
