import { type CreateManyOptions, JobTimeoutError } from '@shortlink/sdk';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  answer,
  HOUR_MS,
  link,
  SENT_AT,
  SettleScene,
  stored,
} from '../../../test/import/settle-scene.ts';
import { testFolder } from '../../../test/test-io.ts';
import { linkIdentity } from '../map/link-identity.ts';

let scene: SettleScene;
beforeEach(async () => {
  scene = new SettleScene(await testFolder());
});
afterEach(() => {
  scene.journal.close();
});

describe('a job', () => {
  const jobOf = (results: object[], status = 'completed') =>
    answer(200, { id: 'j', status, total: 1, processed: results.length, results });
  const made = (name: string, code: string) => ({
    target_url: `https://${name}.example/`,
    code,
    short_url: `https://s.example/${code}`,
  });

  test('is polled to its end, and progress is reported', async () => {
    scene.sent(['a'], { job: 'j1' });
    scene.sent(['b'], { job: 'j2' });
    scene.sent(['c'], { job: 'j3' });
    scene.service.onPoll = (id) => jobOf([made({ j1: 'a', j2: 'b', j3: 'c' }[id] ?? '', id)]);
    const settled = await scene.settle();
    expect(settled).toMatchObject({ isChanged: true, failure: undefined, open: 0 });
    expect(settled.links).toEqual([link('a', 'j1'), link('b', 'j2'), link('c', 'j3')]);
    expect(scene.events).toContainEqual({
      type: 'batch-accepted',
      first: 0,
      count: 1,
      jobId: 'j2',
    });
    expect(scene.events).toContainEqual({
      type: 'job-progress',
      jobId: 'j3',
      processed: 1,
      total: 1,
    });
    expect(scene.service.requests).toBe(3);
  });

  test('that a request has become which was sent again is polled beyond the life of its key', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    scene.sent(['a'], { key: 'k1' });
    const ended: unknown[] = [];
    async function* createMany(_: unknown, { idempotencyKey, onBatch, signal }: CreateManyOptions) {
      if (idempotencyKey === undefined) return;
      await onBatch?.({ type: 'accepted', first: 0, count: 1, job_id: 'j1' });
      vi.advanceTimersByTime(24 * HOUR_MS);
      ended.push(signal?.aborted);
      yield { index: 0 };
    }
    await scene.settle({}, HOUR_MS, { links: { createMany } }).finally(() => vi.useRealTimers());
    expect(ended).toEqual([false]);
  });

  test('is polled even where the request could be sent again', async () => {
    scene.sent(['a'], { job: 'j1', key: 'k1' });
    scene.service.onPoll = () => jobOf([made('a', 'x')]);
    await scene.settle();
    expect(scene.service.asked).toEqual([]);
  });

  test('of which an entry was seen refused gives its code to the other link of that target', async () => {
    scene.sent(['a', 'b', 'a'], { job: 'j1' });
    const refused = { target_url: 'https://a.example/', error: 'title is refused' };
    const [batch] = scene.journal.openBatches();
    const ids = batch && scene.journal.linksOf(batch).map(({ id }) => id);
    const results = [{ status: 'failed', error: refused.error } as const];
    if (batch) scene.journal.decide(batch, { results, ids, isFinal: false, job: 'j1' });
    scene.service.onPoll = () => jobOf([refused, made('b', 'x'), made('a', 'y')]);
    expect((await scene.settle()).links).toEqual([link('b', 'x'), link('a', 'y')]);
  });

  test('that is not over has the links that were seen, and is polled by a later run', async () => {
    scene.sent(['a', 'b'], { job: 'j1' });
    const results = [made('a', 'x'), { target_url: 'https://b.example/' }];
    const error = new JobTimeoutError('The job takes too long', {
      jobId: 'j1',
      timeoutMs: HOUR_MS,
    });
    const event = { type: 'unknown', first: 0, count: 2, error, results, job_id: 'j1' } as const;
    const createMany = (_: unknown, { onBatch }: CreateManyOptions) => {
      onBatch?.(event);
      return [];
    };
    const settled = await scene.settle({}, HOUR_MS, { links: { createMany } });
    expect(settled).toMatchObject({ isChanged: true, open: 1 });
    expect(settled.links).toEqual([link('a', 'x'), link('b', null, error.message)]);
    expect(scene.journal.openBatches()[0]?.job).toBe('j1');
  });

  test('gives no link the result of one on another domain', async () => {
    const { id } = scene.journal.begin({
      links: ['dom_a', 'dom_b'].map((name) =>
        stored(linkIdentity({ target_url: 'https://a.example/' }, name)),
      ),
      sentAt: new Date(SENT_AT).toISOString(),
      idempotencyKey: undefined,
      domain: undefined,
    });
    scene.journal.note(id, 'accepted', { job: 'j1' });
    // The other one was refused before the job was accepted, and the import ended before that was recorded.
    scene.service.onPoll = () => jobOf([made('a', 'x')]);
    expect((await scene.settle()).links).toMatchObject([{ code: null }, { code: null }]);
  });

  test('that has failed has made the links that it names', async () => {
    scene.sent(['a', 'b'], { job: 'j1' });
    scene.service.onPoll = () => jobOf([made('b', 'x')], 'failed');
    const settled = await scene.settle();
    expect(settled).toMatchObject({ isChanged: true, open: 0 });
    expect(settled.links).toEqual([link('a', null, expect.any(String)), link('b', 'x')]);
  });

  test('on another domain is compared by the target URL alone', async () => {
    const { id } = scene.journal.begin({
      links: [stored(linkIdentity({ target_url: 'https://a.example/' }, 'dom_a'))],
      sentAt: new Date(SENT_AT).toISOString(),
      idempotencyKey: undefined,
      domain: 'dom_a',
    });
    scene.journal.note(id, 'accepted', { job: 'j1' });
    scene.service.onPoll = () => jobOf([made('x', 'x0'), made('a', 'x1')]);
    expect((await scene.settle()).links).toMatchObject([{ code: 'x1' }]);
  });

  test.each([
    ['stop', undefined],
    ['retry', undefined],
    ['retry', 'k1'],
  ] as const)(
    'that can not be polled now is polled by a later run, with --on-unknown %s and key %s',
    async (onUnknown, key) => {
      scene.sent(['a'], { job: 'j1', ...(key && { key }) });
      scene.service.onPoll = () => answer(501);
      const settled = await scene.settle({ onUnknown });
      expect(settled).toMatchObject({ isChanged: false, failure: undefined, open: 1 });
      expect(scene.journal.openBatches()[0]?.job).toBe('j1');
      expect(scene.service.asked).toEqual([]);
    },
  );

  test('that is not found is not asked for again under its key, which would stand for the same job', async () => {
    scene.sent(['a'], { job: 'j1', key: 'k1' });
    scene.service.onPoll = () => answer(404);
    expect(await scene.settle()).toMatchObject({ links: [{ code: null }], open: 1 });
    expect(await scene.settle()).toMatchObject({ open: 1 });
    expect(await scene.settle({ onUnknown: 'retry' })).toMatchObject({
      links: [],
      open: 0,
    });
    expect(scene.service.asked).toEqual([]);
  });

  test('that is gone is forgotten with --on-unknown retry, so that its rows are new', async () => {
    scene.sent(['a'], { job: 'j1' });
    scene.service.onPoll = () => answer(404);
    const settled = await scene.settle({ onUnknown: 'retry' });
    expect(settled).toMatchObject({ isChanged: true, links: [], open: 0 });
  });

  test.each(['the first is refused', 'the user stops the import'])(
    'is not polled when %s',
    async (why) => {
      for (const job of ['j1', 'j2', 'j3']) scene.sent([job], { job });
      scene.service.onPoll = () => {
        if (why === 'the first is refused') return answer(401);
        scene.stop.abort();
        return undefined;
      };
      expect(await scene.settle({ concurrency: 1 })).toMatchObject({ open: 3 });
      expect(scene.service.requests).toBe(1);
    },
  );

  test.each([401, 403])('whose poll is refused with %i ends the run', async (status) => {
    scene.sent(['a'], { job: 'j1' });
    scene.sent(['b'], { key: 'k1' });
    scene.service.onPoll = () => answer(status);
    const settled = await scene.settle();
    expect(settled).toMatchObject({ isChanged: false, open: 2 });
    expect(settled.failure?.error).toMatchObject({ status });
    expect(scene.service.asked).toEqual([]);
  });
});
