import { join } from 'node:path';
import {
  type BatchEvent,
  ConnectionError,
  JobFailedError,
  NotFoundError,
  PermissionError,
} from '@shortlink/sdk';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { linksIn } from '../../../test/import/settle-scene.ts';
import { testFolder } from '../../../test/test-io.ts';
import type { Journal } from '../journal/journal.ts';
import { openJournal } from '../journal/open-journal.ts';
import type { RowRules } from '../map/row-rules.ts';
import { type ImportEvent, type ImportSettings, NO_RESPONSE } from '../types.ts';
import { BatchRecorder, decisionOf } from './batch-recorder.ts';
import { LinkSource } from './link-source.ts';
import type { SendInput } from './send-rows.ts';

let journal: Journal;
let events: ImportEvent[];

beforeEach(async () => {
  const path = join(await testFolder(), 'journal');
  journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
  events = [];
});

afterEach(() => journal.close());

/** What a recorder reads of an import's settings. */
const settingsOf = (changes: Partial<ImportSettings>) =>
  ({ defaults: {}, ...changes }) as ImportSettings;

/** A recorder of a run whose links lead to these targets. */
async function recorderOf(
  urls: readonly string[],
  changes: Partial<SendInput> = {},
): Promise<BatchRecorder> {
  async function* rows() {
    yield urls.map((url, index) => ({ line: index + 1, cells: [url] }));
  }
  const rules: RowRules = {
    check: ({ cells }) => ({ link: { target_url: cells[0] ?? '' }, problem: undefined }),
    link: ({ cells }) => ({ target_url: cells[0] ?? '' }),
  };
  const source = new LinkSource(rows(), rules, { skips: () => false, links: urls.length });
  for (const _ of urls) await source.next();
  const onEvent = (event: ImportEvent) => events.push(event);
  const send = {
    journal,
    source: { guard: async () => undefined },
    deps: { onEvent, wallClock: () => 0, uptime: () => 0 },
    settings: settingsOf({}),
    idempotency: true,
    ...changes,
  };
  return new BatchRecorder(source, send as unknown as SendInput);
}

const TWIN = { target_url: 'https://a.example/' };
const TWINS = Array.from({ length: 4 }, () => 'https://a.example/');
const one = (first: number) => ({ first, count: 1 });
const created = (code: string, target_url = 'https://a.example/') => ({
  target_url,
  code,
  short_url: `https://s.example/${code}`,
});

describe('an idempotency key', () => {
  test('is random, so that no other run has it, and stays that of its batch', async () => {
    const keys = [];
    for (const recorder of [await recorderOf(TWINS), await recorderOf(TWINS)]) {
      for (const first of [0, 1, 2]) {
        keys.push(recorder.idempotencyKey(one(first)));
        expect(recorder.idempotencyKey(one(first))).toBe(keys.at(-1));
      }
    }
    expect(new Set(keys).size).toBe(6);
  });

  test('is another one when the batch is planned again with other links', async () => {
    const recorder = await recorderOf(['https://a.example/', 'https://b.example/']);
    await recorder.onBatch({ first: 0, count: 2, type: 'planned' });
    const both = recorder.idempotencyKey({ first: 0, count: 2 });
    await recorder.onBatch({ ...one(0), type: 'planned' });
    expect(recorder.idempotencyKey(one(0))).not.toBe(both);
  });
});

describe('a batch', () => {
  /** Records the life of one batch with two links, and what it leads to. */
  async function live(...steps: Array<Record<string, unknown>>) {
    const recorder = await recorderOf(['https://a.example/', 'https://b.example/']);
    for (const step of [{ type: 'planned' }, { type: 'sent' }, ...steps]) {
      await recorder.onBatch({ first: 0, count: 2, ...step } as BatchEvent);
    }
    const links = linksIn(journal).map(({ code, error }) => ({ code, error }));
    const open = journal.openBatches();
    return { recorder, counts: recorder.finalCounts(), links, open };
  }

  test('is in the journal with its body before the request is sent', async () => {
    const { recorder, open, counts } = await live();
    expect(open).toMatchObject([
      {
        size: 2,
        sentAt: '1970-01-01T00:00:00.000Z',
        idempotencyKey: recorder.idempotencyKey({ first: 0, count: 2 }),
        mayRepeat: true,
      },
    ]);
    expect(open[0] && journal.bodyOf(open[0])).toEqual([
      { target_url: 'https://a.example/' },
      { target_url: 'https://b.example/' },
    ]);
    expect(
      open.flatMap((batch) => journal.linksOf(batch)).map(({ target_url }) => target_url),
    ).toEqual(['https://a.example/', 'https://b.example/']);
    expect(events).toEqual([{ type: 'batch-sent', first: 0, count: 2 }]);
    expect(journal.batch(recorder.batches.get(0)?.id ?? 0).isOpen).toBe(true);
    // Its outcome was never recorded.
    expect(counts).toEqual({ batches: 0, created: 0, failed: 0, unknown: 2 });
  });

  test('without keys is recorded without what only a repeat needs', async () => {
    const recorder = await recorderOf(['https://a.example/'], {
      idempotency: false,
    });
    await recorder.onBatch({ ...one(0), type: 'sent' });
    expect(journal.openBatches()).toMatchObject([{ idempotencyKey: undefined, mayRepeat: false }]);
  });

  test('with results has links that exist', async () => {
    const results = [created('x'), { target_url: 'https://b.example/', error: 'refused' }];
    const { recorder, counts, links, open } = await live({ type: 'completed', results });
    expect(counts).toEqual({ batches: 1, created: 1, failed: 1, unknown: 0 });
    expect(links).toEqual([{ code: 'x', error: null }]);
    expect(open).toEqual([]);
    expect(events.at(-1)).toEqual({ type: 'rows-done', done: 2 });
    expect(recorder.batches.get(0)).toMatchObject({ first: 0, count: 2 });
  });

  test('that is sent without the links that were refused can be sent again without them', async () => {
    const results = [{ ...TWIN, error: 'no title' }, { target_url: 'https://b.example/' }];
    const { counts, links, open } = await live({ type: 'reduced', results });
    expect(counts).toEqual({ batches: 0, created: 0, failed: 1, unknown: 1 });
    expect(links).toEqual([{ code: null, error: NO_RESPONSE }]);
    expect(open).toMatchObject([{ size: 2, idempotencyKey: expect.any(String) }]);
    const [batch] = open;
    expect(batch && journal.linksOf(batch)).toMatchObject([{ target_url: 'https://b.example/' }]);
    expect(batch && [...journal.outcomesOf(journal.batch(batch.id))]).toMatchObject([
      { status: 'failed', error: 'no title' },
      { status: 'unknown', error: NO_RESPONSE },
    ]);
  });

  test('of which links were refused counts these once, before and after the others have their results', async () => {
    const urls = ['https://a.example/', 'https://b.example/', 'https://c.example/'];
    const recorder = await recorderOf(urls);
    const range = { first: 0, count: 3 };
    const [a, ...others] = urls.map((target_url) => ({ target_url }));
    const refused = { target_url: a?.target_url ?? '', error: 'no title' };
    await recorder.onBatch({ ...range, type: 'planned' });
    // A batch that was not sent has nothing to record.
    await recorder.onBatch({ ...range, type: 'reduced', results: [refused, ...others] });
    expect(recorder.finalCounts()).toMatchObject({ failed: 0, unknown: 0 });
    await recorder.onBatch({ ...range, type: 'sent' });
    await recorder.onBatch({ ...range, type: 'reduced', results: [refused, ...others] });
    expect(recorder.finalCounts()).toMatchObject({ failed: 1, unknown: 2 });
    const results = [refused, created('b', urls[1]), created('c', urls[2])];
    await recorder.onBatch({ ...range, type: 'completed', results });
    expect(recorder.finalCounts()).toMatchObject({ created: 2, failed: 1, unknown: 0 });
  });

  test('that became a job can be polled by a later run', async () => {
    const { open } = await live({ type: 'accepted', job_id: 'job-1' });
    expect(open).toMatchObject([{ job: 'job-1' }]);
    expect(events.at(-1)).toEqual({ type: 'batch-accepted', first: 0, count: 2, jobId: 'job-1' });
  });

  test('that was refused whole has failed, each link with its own reason if there is one', async () => {
    const error = new ConnectionError('refused', { outcome: 'not-sent' });
    const { counts, links } = await live({ type: 'failed', error, results: [TWIN, TWIN] });
    expect(counts).toEqual({ batches: 1, created: 0, failed: 2, unknown: 0 });
    expect(links).toEqual([]);
    const named = [{ target_url: 'https://a.example/', error: 'no title' }, TWIN];
    const decision = decisionOf({ type: 'failed', first: 0, count: 2, error, results: named });
    expect(decision.results).toMatchObject([{ error: 'no title' }, { error: 'refused' }]);
  });

  test('whose outcome is unknown may have created links, and that may end the run', async () => {
    const error = new ConnectionError('lost', { outcome: 'unknown' });
    const step = { type: 'unknown', error, results: [TWIN, TWIN], job_id: 'job-1' };
    const { recorder, counts, open } = await live({ type: 'accepted', job_id: 'job-1' }, step);
    expect(counts).toEqual({ batches: 1, created: 0, failed: 0, unknown: 2 });
    expect(open).toMatchObject([{ job: 'job-1' }]);
    expect(events.at(-1)).toEqual({ type: 'rows-done', done: 2 });
    expect(recorder.failureOf(error)).toBeUndefined();
    const other = new Error('lost');
    expect(recorder.failureOf(other)).toEqual({ error: other });
    // Another batch was refused in the same moment, and a third one was not sent for the same reason.
    const headers = new Headers();
    const refusal = new PermissionError({ message: 'no', status: 403, body: undefined, headers });
    const unsent = new ConnectionError('The run ended', { outcome: 'not-sent' });
    for (const reason of [unsent, refusal]) {
      await recorder.onBatch({ type: 'unsent', first: 2, count: 2, error: reason });
    }
    expect(recorder.failureOf(error)?.error).toBe(refusal);
  });

  test('whose job is gone is not polled again', async () => {
    const headers = new Headers();
    const error = new NotFoundError({ message: 'no such job', status: 404, headers });
    const { open } = await live({ type: 'unknown', error, results: [], job_id: 'job-1' });
    expect(open).toMatchObject([{ job: undefined }]);
  });

  test.each(['resized', 'unsent'])(
    'that is %s has created nothing, and is forgotten',
    async (type) => {
      const error = new ConnectionError('too large', { outcome: 'not-sent' });
      const { recorder, open, counts } = await live({ type, error });
      expect(open).toEqual([]);
      expect(counts.unknown).toBe(0);
      expect(recorder.batches.size).toBe(0);
      expect(events.some((event) => event.type === 'batch-resized')).toBe(type === 'resized');
    },
  );

  test('of links that were refused in a larger batch keeps their reasons without a request', async () => {
    const recorder = await recorderOf(['https://a.example/']);
    await recorder.onBatch({ ...one(0), type: 'planned' });
    const results = [{ ...TWIN, error: 'no title' }];
    await recorder.onBatch({ ...one(0), type: 'completed', results });
    expect(recorder.finalCounts()).toEqual({ batches: 1, created: 0, failed: 1, unknown: 0 });
    const [batch] = recorder.batches.values();
    expect(batch && [...journal.outcomesOf(journal.batch(batch.id))]).toMatchObject([
      { error: 'no title' },
    ]);
    expect(events).toEqual([{ type: 'rows-done', done: 1 }]);
  });

  test('of refused links is recorded with their reasons in one step: a crash leaves no doubt about them', async () => {
    const recorder = await recorderOf(['https://a.example/']);
    await recorder.onBatch({ ...one(0), type: 'planned' });
    vi.spyOn(journal, 'decide').mockImplementation(() => {
      throw new Error('killed');
    });
    const results = [{ ...TWIN, error: 'no title' }];
    await recorder.onBatch({ ...one(0), type: 'completed', results });
    expect(journal.openBatches()).toEqual([]);
  });

  test('that was never sent is recorded nowhere', async () => {
    const recorder = await recorderOf(['https://a.example/']);
    const error = new ConnectionError('stopped', { outcome: 'not-sent' });
    for (const step of [
      { type: 'planned' },
      { type: 'accepted', job_id: 'job-1' },
      { type: 'unknown', error, results: [] },
      { type: 'unsent', error },
    ] as const) {
      await recorder.onBatch({ ...one(0), ...step });
    }
    expect(recorder.finalCounts()).toEqual({ batches: 0, created: 0, failed: 0, unknown: 0 });
    expect(journal.isEmpty).toBe(true);
  });
});

test('the rows that are done are counted over all batches', async () => {
  const recorder = await recorderOf(TWINS);
  const error = new ConnectionError('lost', { outcome: 'unknown' });
  for (const first of [0, 1, 2]) await recorder.onBatch({ ...one(first), type: 'sent' });
  await recorder.onBatch({ ...one(1), type: 'completed', results: [created('x')] });
  await recorder.onBatch({ ...one(2), type: 'failed', error, results: [TWIN] });
  await recorder.onBatch({ ...one(0), type: 'unknown', error, results: [TWIN] });
  expect(events.flatMap((event) => (event.type === 'rows-done' ? event.done : []))).toEqual([
    1, 2, 3,
  ]);
  expect(events.filter(({ type }) => type === 'batch-sent')).toHaveLength(3);
  expect(recorder.finalCounts()).toEqual({ batches: 3, created: 1, failed: 1, unknown: 1 });
});

test('a job that has failed has made the links that it names', async () => {
  const recorder = await recorderOf(['https://a.example/', 'https://b.example/']);
  const range = { first: 0, count: 2 };
  await recorder.onBatch({ ...range, type: 'sent' });
  const results = [TWIN, created('x', 'https://b.example/')];
  const job = { id: 'job-1', status: 'failed', total: 2, processed: 1, results };
  const error = new JobFailedError('the job has failed', { jobId: 'job-1', job });
  await recorder.onBatch({ ...range, type: 'unknown', error, results, job_id: 'job-1' });
  expect(recorder.finalCounts()).toEqual({ batches: 1, created: 1, failed: 0, unknown: 1 });
});
