import { ApiError } from '@shortlink/sdk';
import { assert } from 'chai';
import type { Check } from '../check.ts';
import { rejection } from '../rejection.ts';

const LINK = { target_url: 'https://example.com/' };

export const idempotencyChecks: readonly Check[] = [
  {
    name: 'a lost POST with an idempotency key is sent again and creates one link',
    async run(stage) {
      const fault = { kind: 'drop', when: 'after' } as const;
      const server = await stage.startServer({ faults: [{ method: 'POST', fault }] });
      const shortlink = server.client({ idempotency: true });
      const link = await shortlink.links.create(LINK);
      assert.equal(link.target_url, LINK.target_url);
      assert.equal((await shortlink.usage.retrieve()).links.used, 1);
    },
  },
  {
    name: 'the same idempotency key gives the same link, and a conflict with another body',
    async run(stage) {
      const server = await stage.startServer();
      const shortlink = server.client();
      const options = { idempotency: 'order-4711' };
      const first = await shortlink.links.create(LINK, options);
      assert.deepEqual(await shortlink.links.create(LINK, options), first);
      const other = shortlink.links.create({ ...LINK, title: 'another' }, options);
      const error = await rejection(other, ApiError);
      assert.containSubset(error, { status: 422, body: { code: 'idempotency_conflict' } });
    },
  },
];
