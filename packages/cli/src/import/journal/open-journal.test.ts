import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/test-io.ts';
import { openJournal, peekJournal } from './open-journal.ts';

const URL = 'https://api.example';

/** A journal that lost its tables, as a repair tool may leave it. */
async function emptyJournal(): Promise<string> {
  const path = join(await testFolder(), 'journal');
  const db = new DatabaseSync(path);
  db.exec('CREATE TABLE other (id); PRAGMA application_id = 0x534c4a31; PRAGMA user_version = 1');
  db.close();
  return path;
}

test('a journal that can not be used is not left locked', async () => {
  const path = await emptyJournal();
  expect(() => openJournal(path, URL, false)).toThrow(/no such table/);
  expect(() => openJournal(path, URL, false)).toThrow(/no such table/);
  expect(() => peekJournal(path, URL, false)).toThrow(/no such table/);
  const db = new DatabaseSync(path);
  db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
  db.close();
  expect(readdirSync(join(path, '..'))).toEqual(['journal']);
});
