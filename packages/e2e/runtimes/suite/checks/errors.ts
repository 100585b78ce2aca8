import {
  ApiError,
  AuthenticationError,
  BadRequestError,
  JobTimeoutError,
  NotFoundError,
  PermissionError,
  PlanLimitError,
  ResponseShapeError,
  ServerError,
} from '@shortlink/sdk';
import { assert } from 'chai';
import type { Check } from '../check.ts';
import { rejection } from '../rejection.ts';

const LINK = { target_url: 'https://example.com/' };

export const errorChecks: readonly Check[] = [
  {
    name: '401 is an AuthenticationError',
    async run(stage) {
      const server = await stage.startServer();
      const shortlink = server.client({ apiKey: 'sl_unknown' });
      const error = await rejection(shortlink.links.create(LINK), AuthenticationError);
      assert.containSubset(error, { status: 401, body: { code: 'unauthorized' } });
    },
  },
  {
    name: '403 is a PermissionError',
    async run(stage) {
      const server = await stage.startServer({ permissions: ['analytics:read'] });
      const error = await rejection(server.client().links.create(LINK), PermissionError);
      assert.containSubset(error, { status: 403, body: { code: 'forbidden' } });
    },
  },
  {
    name: '403 with upgrade is a PlanLimitError',
    async run(stage) {
      const server = await stage.startServer({ plan: 'community', limits: { links: 1 } });
      const shortlink = server.client();
      await shortlink.links.create(LINK);
      const error = await rejection(shortlink.links.create(LINK), PlanLimitError);
      const expected = { status: 403, upgrade: true, limit: 'links', used: 1, allowed: 1 };
      assert.containSubset(error, expected);
    },
  },
  {
    name: '404 is a NotFoundError',
    async run(stage) {
      const server = await stage.startServer();
      const unknown = '0199a000-0000-7000-8000-000000000000';
      const error = await rejection(server.client().jobs.retrieve(unknown), NotFoundError);
      assert.equal(error.status, 404);
    },
  },
  {
    name: '400 is a BadRequestError that lists the bad entries',
    async run(stage) {
      const server = await stage.startServer();
      const shortlink = server.client();
      const links = [LINK, { target_url: 'nonsense' }, LINK, { ...LINK, title: 'x'.repeat(256) }];
      const error = await rejection(shortlink.links.createBatch({ links }), BadRequestError);
      const details = error.body?.details ?? [];
      assert.deepEqual(
        details.map(({ index, field }) => ({ index, field })),
        [
          { index: 1, field: 'target_url' },
          { index: 3, field: 'title' },
        ],
      );
      assert.equal((await shortlink.usage.retrieve()).links.used, 0);
    },
  },
  {
    name: 'a POST that the server fails is not sent again',
    async run(stage) {
      const fault = { kind: 'answer', status: 500 } as const;
      const server = await stage.startServer({ faults: [{ method: 'POST', fault }] });
      const error = await rejection(server.client().links.create(LINK), ServerError);
      assert.equal(error.status, 500);
      assert.lengthOf(await server.requests(), 1);
    },
  },
  {
    name: 'an answer of another shape is a ResponseShapeError',
    async run(stage) {
      const fault = { kind: 'answer', status: 200 } as const;
      const server = await stage.startServer({ faults: [{ method: 'POST', fault }] });
      const error = await rejection(server.client().links.create(LINK), ResponseShapeError);
      assert.containSubset(error, { status: 200, path: 'code' });
    },
  },
  {
    name: 'a job that is not done in time is a JobTimeoutError',
    async run(stage) {
      const fault = { kind: 'delay', ms: 20_000 } as const;
      const server = await stage.startServer({ faults: [{ method: 'GET', fault }] });
      const waiting = server.client().jobs.wait('some-job', { timeoutMs: 100 });
      const error = await rejection(waiting, JobTimeoutError);
      assert.containSubset(error, { jobId: 'some-job', timeoutMs: 100 });
    },
  },
  {
    name: 'an error carries request id and headers',
    async run(stage) {
      const server = await stage.startServer({ plan: 'pro' });
      const creating = server.client().links.create({ target_url: 'nonsense' });
      const error = await rejection(creating, ApiError);
      assert.isString(error.requestId);
      assert.include(error.headers.get('ratelimit-policy') ?? '', '"minute";q=60');
    },
  },
];
