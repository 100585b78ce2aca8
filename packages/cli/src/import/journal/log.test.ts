import { copyFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { linksIn, stored } from '../../../test/import/settle-scene.ts';
import { testFolder } from '../../../test/test-io.ts';
import { linkIdentity } from '../map/link-identity.ts';
import type { LinkResult } from '../types.ts';
import type { Journal } from './journal.ts';
import { openJournal } from './open-journal.ts';

let path: string;
let journal: Journal;
beforeEach(async () => {
  path = join(await testFolder(), 'journal');
  open();
});
afterEach(() => journal.close());

function open(): void {
  journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
}

/** Plays a disk on which nothing can grow any more. */
function fillDisk(): void {
  journal.db.exec('PRAGMA max_page_count = 1');
}

const pages = () => Number(journal.db.prepare('PRAGMA page_count').get()?.['page_count']);

const SIZE = 200;
const begin = () => {
  const links = Array.from({ length: SIZE }, (_, n) =>
    stored(linkIdentity({ target_url: `https://example.com/${n}` }, undefined)),
  );
  return journal.begin({ links, sentAt: '', idempotencyKey: undefined, domain: undefined });
};
const RESULTS = Array.from({ length: SIZE }, (_, n): LinkResult => {
  const code = `abc${String(n).padStart(4, '0')}`;
  return { status: 'created', code, short_url: `https://links.a-long-domain.example/${code}` };
});
const FULL = expect.objectContaining({
  code: 'system',
  message: expect.stringContaining('the disk is full'),
});

test('what becomes of requests in flight is recorded on a full disk too, and no other request', () => {
  journal.keepRoom(4 * SIZE);
  const batches = [begin(), begin(), begin(), begin()];
  fillDisk();
  for (const batch of batches)
    journal.note(batch.id, 'accepted', { job: '00000000-0000-4000-8000-000000000001' });
  expect(begin).toThrow(FULL);
  for (const batch of batches) journal.decide(batch, { results: RESULTS, isFinal: true });
  // It would have room by now, which is that of other responses.
  expect(begin).toThrow(FULL);
  journal.close();
  open();
  expect(journal.openBatches()).toEqual([]);
  expect(linksIn(journal).filter(({ code }) => code !== undefined)).toHaveLength(4 * SIZE);
});

test('without room for the responses, nothing is begun', () => {
  begin();
  fillDisk();
  expect(() => journal.keepRoom(4 * SIZE)).toThrow(FULL);
});

test('the room that a killed run has left is used again', () => {
  journal.keepRoom(4 * SIZE);
  begin();
  copyFileSync(path, `${path}-killed`);
  journal.close();
  copyFileSync(`${path}-killed`, path);
  open();
  const before = pages();
  journal.keepRoom(4 * SIZE);
  journal.keepRoom(SIZE);
  expect(pages()).toBe(before);
  journal.keepRoom(40 * SIZE);
  expect(pages()).toBeGreaterThan(before);
});

test('room for more responses is what it would be, had it been kept for all of them at once', () => {
  const kept = () => journal.db.prepare('SELECT sum(length(bytes)) AS bytes FROM room').get();
  journal.keepRoom(SIZE);
  journal.keepRoom(4 * SIZE);
  const grown = kept();
  journal.db.exec('DELETE FROM room');
  journal.keepRoom(4 * SIZE);
  expect(grown).toEqual(kept());
});

test('once nothing is in flight, a journal is as large as what it records', () => {
  journal.keepRoom(200 * SIZE);
  begin();
  journal.keepRoom(200 * SIZE);
  journal.close();
  expect(statSync(path).size).toBeLessThan(64 * 1024);
  open();
  expect(journal.openBatches()).toHaveLength(1);
});

test('many long reasons are cut on a full disk, so that none of them is lost', () => {
  journal.keepRoom(4 * SIZE);
  const batches = [begin(), begin(), begin(), begin()];
  fillDisk();
  const error = `target_url must not lead to ${'a-host-that-is-refused.'.repeat(40)}example`;
  const results = RESULTS.map(() => ({ status: 'failed' as const, error }));
  for (const batch of batches) journal.decide(batch, { results, isFinal: true });
  const [first, ...others] = batches.flatMap((batch) => [
    ...journal.outcomesOf(journal.batch(batch.id)),
  ]);
  expect(first).toMatchObject({ status: 'failed', error: error.slice(0, 40) });
  expect(others).toHaveLength(4 * SIZE - 1);
});

test('the journal of an earlier release gets room too', () => {
  begin();
  journal.close();
  const db = new DatabaseSync(path);
  db.exec('DROP TABLE room');
  db.close();
  open();
  journal.keepRoom(SIZE);
  const batch = begin();
  fillDisk();
  journal.decide(batch, { results: RESULTS, isFinal: true });
  expect(journal.openBatches()).toHaveLength(1);
});
