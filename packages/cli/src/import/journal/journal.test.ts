import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { linksIn, stored } from '../../../test/import/settle-scene.ts';
import { testFolder } from '../../../test/test-io.ts';
import { linkIdentity, madeFor } from '../map/link-identity.ts';
import { type LinkResult, NO_RESPONSE } from '../types.ts';
import { beginBatch } from './batches.ts';
import type { Journal } from './journal.ts';
import { openJournal } from './open-journal.ts';

let path: string;
let journal: Journal;
beforeEach(async () => {
  path = join(await testFolder(), 'journal');
  open();
});
afterEach(() => journal.close());

function open(baseUrl = 'https://api.example'): void {
  journal = openJournal({ path, baseUrl, restart: false });
}

const SENT_AT = '2026-01-01T00:00:00.000Z';
const identity = (name: string) =>
  linkIdentity({ target_url: `https://${name}.example/` }, undefined);
const begin = (names: readonly string[], more: { idempotencyKey?: string; body?: string } = {}) =>
  journal.begin({
    links:
      more.body === undefined ? names.map((name) => stored(identity(name))) : JSON.parse(more.body),
    sentAt: SENT_AT,
    idempotencyKey: more.idempotencyKey,
    domain: 'dom',
  });
const created = (code: string): LinkResult => ({
  status: 'created',
  code,
  short_url: `https://s.example/${code}`,
});
const failed = (error: string): LinkResult => ({ status: 'failed', error });
const unknown = (error: string): LinkResult => ({ status: 'unknown', error });
const links = () =>
  linksIn(journal).map(({ pair, code, error }) => [pair.slice(8, 9), code, error]);

test('a request that was begun is open, with everything that another run needs of it', () => {
  const body = '[{"target_url":"https://a.example/"},{"target_url":"https://b.example/"}]';
  const { id } = begin(['a', 'b'], { idempotencyKey: 'k', body });
  journal.close();
  open();
  expect(journal.openBatches()).toMatchObject([
    {
      id,
      sentAt: SENT_AT,
      idempotencyKey: 'k',
      job: undefined,
      size: 2,
      domain: 'dom',
      mayRepeat: true,
      firstLink: 1,
    },
  ]);
  const [batch] = journal.openBatches();
  expect(batch && journal.linksOf(batch)).toEqual([
    { id: 1, target_url: 'https://a.example/', domain_id: 'dom' },
    { id: 2, target_url: 'https://b.example/', domain_id: 'dom' },
  ]);
  expect(journal.hasLinks()).toBe(true);
});

test('records that are written together are all there, or none of them, and others can follow', () => {
  journal.write(() => ['a', 'b', 'c'].map((name) => begin([name])));
  const failing = () => {
    for (const name of ['d', 'e']) begin([name]);
    throw new Error('stopped');
  };
  expect(() => journal.write(failing)).toThrow('stopped');
  begin(['f']);
  journal.close();
  open();
  const names = journal
    .batches()
    .flatMap((batch) => [...journal.eachLink(batch)].map(({ pair }) => pair));
  expect(names.map((pair) => pair.slice(8, 9))).toEqual(['a', 'b', 'c', 'f']);
});

test('what was undone is forgotten in memory, too', () => {
  const kept = begin(['a']);
  const undo = () =>
    journal.write(() => {
      journal.decide(kept, { results: [created('c1')], isFinal: true });
      begin(['b']);
      throw new Error('the disk is full');
    });
  expect(undo).toThrow('the disk is full');
  expect(journal.batches()).toMatchObject([{ id: kept.id, isOpen: true, created: 0 }]);
});

test('a job is polled, and its request not sent again', () => {
  const { id } = begin(['a'], {
    idempotencyKey: 'k',
    body: '[{"target_url":"https://a.example/"}]',
  });
  journal.note(id, 'accepted', { job: 'job-1' });
  expect(journal.openBatches()).toMatchObject([{ job: 'job-1', mayRepeat: false }]);
  expect(journal.linksInJobs()).toBe(1);
});

test('links of another service do not say how the short URLs of this one begin', () => {
  const record = (short_url: string) => {
    const results = [{ ...created('x'), short_url }];
    journal.decide(begin(['a']), { results, isFinal: true });
  };
  record('https://first.example/x');
  journal.close();
  open('https://other.example');
  expect(journal.origins()).toEqual([]);
  record('https://second.example/x');
  expect(journal.origins()).toEqual(['https://second.example']);
});

test('links of a job whose outcome is known are not those that a poll may still find', () => {
  const batch = begin(['a', 'b', 'c']);
  journal.note(batch.id, 'accepted', { job: 'job-1' });
  const results = [created('x'), failed('no title'), unknown('not seen')];
  journal.decide(batch, { results, isFinal: false, job: 'job-1', error: 'the poll was lost' });
  expect(journal.linksInJobs()).toBe(1);
});

describe('what became of a batch', () => {
  test.each([
    ['with a key', '[{"target_url":"https://a.example/"},{"target_url":"https://b.example/"}]'],
    ['without a key', undefined],
  ])('is the same by its results as by its links, %s and a default domain', (_, body) => {
    const names = ['a', 'b'];
    const madeWith = (name: string) =>
      body === undefined
        ? identity(name)
        : linkIdentity({ target_url: `https://${name}.example/` }, 'dom');
    const expected = names.map((name) => ({
      ...created(name),
      made_for: madeFor(madeWith(name)),
    }));
    const batch = begin(names, body === undefined ? {} : { idempotencyKey: 'k', body });
    journal.decide(batch, { results: names.map(created), isFinal: true });
    const inSteps = begin(names, body === undefined ? {} : { idempotencyKey: 'l', body });
    journal.decide(inSteps, { results: [created('a')], isFinal: false });
    journal.decide(inSteps, { results: names.map(created), isFinal: true });
    journal.close();
    open();
    for (const { id } of [batch, inSteps]) {
      expect([...journal.outcomesOf(journal.batch(id))]).toEqual(expected);
    }
  });

  test('at its end: links exist, were refused, or were left out by the response', () => {
    const batch = begin(['a', 'b', 'c']);
    const results = [created('x'), failed('no title'), unknown('left out')];
    journal.decide(batch, { results, isFinal: true });
    expect(journal.openBatches()).toEqual([]);
    expect(links()).toEqual([
      ['a', 'x', null],
      ['c', null, 'left out'],
    ]);
    expect([...journal.outcomesOf(journal.batch(batch.id))]).toEqual([
      { ...results[0], made_for: madeFor(identity('a')) },
      { ...results[1], made_for: madeFor(identity('b')) },
      { ...results[2], made_for: madeFor(identity('c')) },
    ]);
    expect(journal.releaseUnanswered()).toBe(true);
    expect(journal.releaseUnanswered()).toBe(false);
    expect(links()).toEqual([['a', 'x', null]]);
  });

  test('is forgotten of this service alone, where another one left out links as well', () => {
    const leftOut = () =>
      journal.decide(begin(['a']), { results: [unknown('left out')], isFinal: true });
    leftOut();
    journal.close();
    open('https://other.example');
    expect(journal.releaseUnanswered()).toBe(false);
    leftOut();
    expect(journal.releaseUnanswered()).toBe(true);
    journal.close();
    open();
    expect(links()).toEqual([['a', null, 'left out']]);
  });

  test('of which only a part is known stays open', () => {
    const batch = begin(['a', 'b', 'c']);
    const results = [created('x'), failed('no'), unknown(NO_RESPONSE)];
    journal.decide(batch, { results, isFinal: false, job: 'job-1', error: 'too slow' });
    expect(journal.openBatches()).toMatchObject([{ id: batch.id, job: 'job-1' }]);
    expect(links()).toEqual([
      ['a', 'x', null],
      ['c', null, 'too slow'],
    ]);
    // A job is resumed with all links that were not refused.
    expect(journal.linksOf(batch).map(({ id }) => id)).toEqual([1, 3]);
    journal.decide(batch, { results: [created('x'), created('z')], ids: [1, 3], isFinal: true });
    expect(links()).toEqual([
      ['a', 'x', null],
      ['c', 'z', null],
    ]);
  });

  test('whose results were those of other rows as long as some were missing: each link is that of one row', () => {
    const batch = begin(['a', 'a', 'a', 'a']);
    const part = [created('1'), created('2'), created('3'), unknown('lost')];
    journal.decide(batch, { results: part, isFinal: false, job: 'j' });
    const all = [created('1'), failed('bad'), created('2'), created('3')];
    journal.decide(batch, { results: all, isFinal: true });
    expect(linksIn(journal).map(({ code }) => code)).toEqual(['1', '2', '3']);
    expect(journal.batch(batch.id)).toMatchObject({ created: 3, unanswered: 0, isOpen: false });
  });

  test('is not forgotten when a later response says less of it', () => {
    const batch = begin(['a', 'b', 'c']);
    const results = [created('x'), created('y'), unknown(NO_RESPONSE)];
    journal.decide(batch, { results, isFinal: false, job: 'j' });
    journal.decide(batch, {
      results: [unknown('lost'), failed('no'), failed('no')],
      isFinal: true,
    });
    expect(links()).toEqual([
      ['a', 'x', null],
      ['b', 'y', null],
    ]);
    expect(journal.batch(batch.id)).toMatchObject({ created: 2, unanswered: 0, isOpen: false });
  });

  test('that is released is forgotten, but for the links that are known', () => {
    const batch = begin(['a', 'b']);
    journal.decide(batch, { results: [created('x'), unknown('?')], isFinal: false });
    journal.release(batch);
    expect(links()).toEqual([['a', 'x', null]]);
    expect(journal.openBatches()).toEqual([]);
  });

  test('that needed no request is recorded together with it', () => {
    const decision = { results: [failed('no title')], isFinal: true };
    const none = { idempotencyKey: undefined, domain: undefined };
    const batch = journal.begin(
      { links: [stored(identity('a'))], sentAt: SENT_AT, ...none },
      decision,
    );
    expect(journal.openBatches()).toEqual([]);
    expect([...journal.outcomesOf(journal.batch(batch.id))]).toMatchObject([
      { status: 'failed', error: 'no title' },
    ]);
    expect(journal.isEmpty).toBe(true);
  });

  test('is another batch for each: ids are used once', () => {
    const first = begin(['a']);
    journal.release(first);
    expect(begin(['b']).firstLink).toBe(2);
    journal.close();
    open();
    expect(begin(['c']).firstLink).toBe(3);
    expect(journal.firstNewLink).toBe(3);
  });
});

test('a link that was found while its request had no response is one link', () => {
  begin(['a', 'b'], { idempotencyKey: 'k' });
  journal.close();
  open();
  journal.add([
    { ...identity('b'), code: 'x', short_url: 'https://s.example/x', status: 'created' },
  ]);
  journal.beginCreating();
  const [batch] = journal.openBatches();
  if (batch) journal.decide(batch, { results: [created('y'), created('x')], isFinal: true });
  expect(links()).toEqual([
    ['a', 'y', null],
    ['b', 'x', null],
  ]);
});

test('links that were refused are forgotten by the next run', () => {
  const batch = begin(['a']);
  journal.decide(batch, { results: [failed('no')], isFinal: true });
  const kept = begin(['b']);
  journal.decide(kept, { results: [created('x')], isFinal: true });
  journal.close();
  open();
  expect(links()).toEqual([['b', 'x', null]]);
});

test('services are kept apart, however their address is written', () => {
  begin(['a']);
  journal.close();
  open('https://other.example/');
  expect([journal.hasLinks(), journal.openBatches()]).toEqual([false, []]);
  expect(journal.otherServices()).toEqual(['https://api.example']);
  expect(journal.isEmpty).toBe(false);
  begin(['b']);
  expect(journal.otherServices()).toEqual(['https://api.example']);
  journal.close();
  open('https://API.example:443/');
  expect(journal.hasLinks()).toBe(true);
});

test('it says what the short URLs of its links begin with', () => {
  expect(journal.origins()).toEqual([]);
  journal.decide(begin(['a', 'b']), { results: [created('x'), unknown('?')], isFinal: true });
  expect(journal.origins()).toEqual(['https://s.example']);
});

test('it knows the last files that were written', () => {
  begin(['a']);
  for (let n = 0; n < 20; n += 1) journal.willWrite(`content ${n}`);
  journal.close();
  open();
  expect([journal.hasWritten('content 19'), journal.hasWritten('content 0')]).toEqual([
    true,
    false,
  ]);
});

test('the batches of an earlier release are of this service, whatever name of this machine it wrote', () => {
  const info = { service: 'http://127.0.0.1:8787', size: 1, sentAt: '' };
  const begun = (service: string) =>
    beginBatch({ id: 1, kind: 'batch', batch: undefined, info: { ...info, service } }, 1).service;
  expect(begun(info.service)).toBe('http://localhost:8787');
  expect(begun('http://[::ffff:127.0.0.1]:8787')).toBe('http://localhost:8787');
  expect(begun('https://127.example/x')).toBe('https://127.example/x');
});
