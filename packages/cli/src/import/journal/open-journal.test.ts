import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { stored } from '../../../test/import/settle-scene.ts';
import { testFolder } from '../../../test/test-io.ts';
import { linkIdentity } from '../map/link-identity.ts';
import { Journal } from './journal.ts';
import { openJournal, peekJournal } from './open-journal.ts';

const URL = 'https://api.example';

/** A journal that lost its tables, as a repair tool may leave it. */
async function emptyJournal(): Promise<string> {
  const path = join(await testFolder(), 'journal');
  const db = new DatabaseSync(path);
  db.exec('CREATE TABLE other (id); PRAGMA application_id = 0x534c4a32');
  db.close();
  return path;
}

/** Gives the test a temporary folder that no other program uses, and resolves to what lists it. */
async function useOwnTmpdir(): Promise<() => string[]> {
  const folder = await testFolder();
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  return () => readdirSync(folder);
}

test('a journal that can not be used is not left locked', async () => {
  const path = await emptyJournal();
  expect(() => openJournal({ path, baseUrl: URL, restart: false })).toThrow(/no such table/);
  expect(() => openJournal({ path, baseUrl: URL, restart: false })).toThrow(/no such table/);
  const copies = await useOwnTmpdir();
  expect(() => peekJournal({ path, baseUrl: URL, restart: false })).toThrow(/no such table/);
  expect(copies()).toEqual([]);
  const db = new DatabaseSync(path);
  db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
  db.close();
  expect(readdirSync(join(path, '..'))).toEqual(['journal']);
});

test('a restart whose owner can not be recorded leaves the journal as it was', async () => {
  const path = join(await testFolder(), 'journal');
  run(path, 'https://example.com/');
  const spy = vi.spyOn(Journal.prototype, 'setOwner').mockImplementation(() => {
    throw new Error('the disk is full');
  });
  onTestFinished(() => spy.mockRestore());
  const copies = await useOwnTmpdir();
  for (const restart of [true, false]) {
    const open = () => openJournal({ path, baseUrl: URL, restart, input: 'links.csv' });
    expect(open).toThrow('the disk is full');
  }
  expect(() => peekJournal({ path, baseUrl: URL, restart: false, input: 'a.csv' })).toThrow('full');
  expect(copies()).toEqual([]);
  expect(namesBeside(path)).toEqual(['journal']);
  expect(peek(path)).toHaveLength(1);
});

test('a restart that can not begin another journal leaves the old one where it was', async () => {
  const path = join(await testFolder(), 'journal');
  run(path, 'https://example.com/');
  const { exec } = DatabaseSync.prototype;
  const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
    this: DatabaseSync,
    sql,
  ) {
    if (sql.includes('CREATE TABLE log')) throw new Error('the disk is full');
    exec.call(this, sql);
  });
  onTestFinished(() => spy.mockRestore());
  expect(() => openJournal({ path, baseUrl: URL, restart: true })).toThrow('the disk is full');
  expect(namesBeside(path)).toEqual(['journal']);
  expect(peek(path)).toHaveLength(1);
});

/** The names in the folder of a journal. */
const namesBeside = (path: string) => readdirSync(join(path, '..')).sort();

/** Opens the journal, records a request where `target` is given, and closes it. */
function run(path: string, target?: string, restart = false): void {
  const journal = openJournal({ path, baseUrl: URL, restart });
  if (target !== undefined) record(journal, target);
  journal.close();
}

function record(journal: Journal, target: string): void {
  const links = [stored(linkIdentity({ target_url: target }, undefined))];
  const none = { idempotencyKey: undefined, domain: undefined };
  journal.begin({ links, sentAt: new Date(0).toISOString(), ...none });
}

/** What a dry run finds in the journal. */
function peek(path: string, restart = false): string[] {
  const journal = peekJournal({ path, baseUrl: URL, restart });
  const found = journal
    .openBatches()
    .flatMap((batch) => journal.linksOf(batch))
    .map(({ target_url }) => target_url);
  journal.close();
  return found;
}

test('a journal that remembers nothing is removed when it is closed', async () => {
  const path = join(await testFolder(), 'journal');
  run(path);
  expect(namesBeside(path)).toEqual([]);
  run(path, 'a');
  run(path);
  expect(namesBeside(path)).toEqual(['journal']);
  expect(peek(path)).toEqual(['a']);
});

describe('a restart', () => {
  test('keeps the old journal beside the new one, each under a name of its own', async () => {
    const path = join(await testFolder(), 'journal');
    run(path, 'a');
    run(path, 'b', true);
    run(path, 'c', true);
    expect(namesBeside(path)).toEqual(['journal', 'journal.old', 'journal.old2']);
    expect([path, `${path}.old`, `${path}.old2`].map((name) => peek(name))).toEqual([
      ['c'],
      ['a'],
      ['b'],
    ]);
  });

  test('that records nothing leaves everything as it was', async () => {
    const path = join(await testFolder(), 'journal');
    run(path, undefined, true);
    expect(namesBeside(path)).toEqual([]);
    run(path, 'a');
    run(path, undefined, true);
    expect(namesBeside(path)).toEqual(['journal']);
    expect(peek(path)).toEqual(['a']);
  });

  test('has nothing to keep of an empty journal', async () => {
    const path = join(await testFolder(), 'journal');
    new DatabaseSync(path).close();
    run(path, 'a', true);
    expect(namesBeside(path)).toEqual(['journal']);
  });

  test('removes an empty journal, even if the old one is gone in the meantime', async () => {
    const path = join(await testFolder(), 'journal');
    run(path, 'a');
    const journal = openJournal({ path, baseUrl: URL, restart: true });
    rmSync(`${path}.old`);
    journal.close();
    expect(namesBeside(path)).toEqual([]);
  });

  test('is refused where the journal is a link', async () => {
    const path = join(await testFolder(), 'journal');
    writeFileSync(`${path}-text`, '{"t":"header"}\n');
    symlinkSync(`${path}-text`, path);
    expect(() => openJournal({ path, baseUrl: URL, restart: true })).toThrow(
      'it is a symbolic link',
    );
    expect(() => peekJournal({ path, baseUrl: URL, restart: true })).toThrow(
      'it is a symbolic link',
    );
    expect(namesBeside(path)).toEqual(['journal', 'journal-text']);
  });

  test('is refused while another run has the journal', async () => {
    const path = join(await testFolder(), 'journal');
    const other = openJournal({ path, baseUrl: URL, restart: false });
    record(other, 'a');
    expect(() => openJournal({ path, baseUrl: URL, restart: true })).toThrow(
      'in use by another run',
    );
    other.close();
    expect(namesBeside(path)).toEqual(['journal']);
  });
});

describe('a dry run', () => {
  test('changes nothing, and leaves no copy behind', async () => {
    const path = join(await testFolder(), 'journal');
    expect(peek(path)).toEqual([]);
    expect(namesBeside(path)).toEqual([]);
    run(path, 'a');
    const before = readFileSync(path);
    const copies = await useOwnTmpdir();
    expect(peek(path)).toEqual(['a']);
    const journal = peekJournal({ path, baseUrl: URL, restart: false });
    record(journal, 'b');
    expect(copies()).toHaveLength(1);
    journal.close();
    expect(readFileSync(path)).toEqual(before);
    expect(namesBeside(path)).toEqual(['journal']);
    expect(copies()).toEqual([]);
  });

  test('of a restart sees nothing of the journal', async () => {
    const path = join(await testFolder(), 'journal');
    run(path, 'a');
    expect(peek(path, true)).toEqual([]);
    expect(peek(path)).toEqual(['a']);
  });

  test('sees what a killed run has written', async () => {
    const path = join(await testFolder(), 'journal');
    const killed = openJournal({ path, baseUrl: URL, restart: false });
    record(killed, 'a');
    expect(peek(path)).toEqual(['a']);
    killed.close();
  });
});

describe('the owner of a journal', () => {
  /** Runs an import of an input under a journal. */
  function runOf(folder: string, input: string, journal: string, target?: string): void {
    const path = join(folder, journal);
    const opened = openJournal({ path, baseUrl: URL, restart: false, input: join(folder, input) });
    if (target !== undefined) record(opened, target);
    opened.close();
  }

  test('is another input of the same name: it is refused', async () => {
    const folder = await testFolder();
    for (const name of ['a', 'b', 'state']) mkdirSync(join(folder, name));
    for (const name of ['a', 'b']) writeFileSync(join(folder, name, 'links.csv'), 'url\n');
    runOf(folder, 'a/links.csv', 'state/links.csv.journal', 'x');
    for (const open of [openJournal, peekJournal]) {
      const settings = {
        path: join(folder, 'state/links.csv.journal'),
        baseUrl: URL,
        restart: false,
      };
      expect(() => open({ ...settings, input: join(folder, 'b/links.csv') })).toThrow(
        `is the journal of another input, ${join(folder, 'a/links.csv')}`,
      );
    }
    runOf(folder, 'a/links.csv', 'state/links.csv.journal');
  });

  test('may be renamed, or moved together with its journal', async () => {
    const folder = await testFolder();
    mkdirSync(join(folder, 'a'));
    writeFileSync(join(folder, 'a/links.csv'), 'url\n');
    runOf(folder, 'a/links.csv', 'a/journal', 'x');
    renameSync(join(folder, 'a'), join(folder, 'b'));
    runOf(folder, 'b/links.csv', 'b/journal');
    renameSync(join(folder, 'b/links.csv'), join(folder, 'b/other.csv'));
    runOf(folder, 'b/other.csv', 'b/journal');
    writeFileSync(join(folder, 'b/links.csv'), 'url\n');
    expect(() => runOf(folder, 'b/links.csv', 'b/journal')).toThrow('another input');
  });

  test('is whoever comes first, where the journal knows no link', async () => {
    const folder = await testFolder();
    for (const name of ['a.csv', 'b.csv']) writeFileSync(join(folder, name), 'url\n');
    const path = join(folder, 'journal');
    const first = openJournal({ path, baseUrl: URL, restart: false, input: join(folder, 'a.csv') });
    first.willWrite('content');
    first.close();
    runOf(folder, 'b.csv', 'journal', 'x');
    expect(() => runOf(folder, 'a.csv', 'journal')).toThrow('another input');
  });
});

test('a journal that is cut off is named, and a copy of it at any moment is whole', async () => {
  const folder = await testFolder();
  const path = join(folder, 'journal');
  const open = { path, baseUrl: URL, restart: false };
  const running = openJournal(open);
  for (let n = 0; n < 2_000; n += 1) {
    record(running, `https://example.com/${n}`);
    if (n % 500 !== 0) continue;
    // Moved alone, as after a kill.
    copyFileSync(path, join(folder, 'moved'));
    const moved = openJournal({ ...open, path: join(folder, 'moved') });
    expect(moved.openBatches()).toHaveLength(n + 1);
    moved.close();
  }
  running.close();
  truncateSync(path, 16_384);
  for (const again of [openJournal, peekJournal]) {
    expect(() => again(open)).toThrow('is damaged');
  }
});

describe('what SQLite has begun when a run is killed', () => {
  /** A folder with a journal of some records, as a run leaves it that is killed in a transaction. Returns copies of it from before. */
  async function killed(): Promise<{ path: string; copies: string[] }> {
    const [folder, elsewhere] = [await testFolder(), await testFolder()];
    const path = join(folder, 'journal');
    const copies = ['first', 'last'].map((name) => join(elsewhere, name));
    for (const copy of copies) {
      run(path, copy);
      copyFileSync(path, copy);
    }
    const journal = openJournal({ path, baseUrl: URL, restart: false });
    record(journal, 'c');
    // With little memory, it writes into the file before the transaction ends.
    journal.db.exec('PRAGMA cache_size = 1; BEGIN; DELETE FROM seal');
    for (let n = 0; n < 20; n += 1)
      journal.db.exec('INSERT INTO room (bytes) VALUES (zeroblob(30000))');
    const left = ['', '-journal'].map(
      (end) => [`${path}${end}`, readFileSync(`${path}${end}`)] as const,
    );
    journal.db.exec('ROLLBACK');
    journal.close();
    for (const [name, bytes] of left) writeFileSync(name, bytes);
    return { path, copies };
  }

  test('is undone in its own file', async () => {
    const { path, copies } = await killed();
    expect(peek(path)).toEqual([...copies, 'c']);
    run(path);
    expect(namesBeside(path)).toEqual(['journal']);
    expect(peek(path)).toEqual([...copies, 'c']);
  });

  test('is no part of a file that was restored from a copy', async () => {
    const { path, copies } = await killed();
    const copiesLeft = await useOwnTmpdir();
    const [first = '', last = ''] = copies;
    for (const [copy, known] of [
      [first, [first]],
      [last, copies],
    ] as const) {
      const undo = readFileSync(`${path}-journal`);
      copyFileSync(copy, path);
      expect(peek(path)).toEqual(known);
      const warnings: string[] = [];
      const warn = (message: string) => warnings.push(message);
      openJournal({ path, baseUrl: URL, restart: false, warn }).close();
      expect(warnings).toEqual([expect.stringContaining(`${path}-journal.old`)]);
      expect(peek(path)).toEqual(known);
      writeFileSync(`${path}-journal`, undo);
    }
    expect(copiesLeft()).toEqual([]);
  });
});

describe('a copy of the one file that was made while it was written', () => {
  const PAGE = 8_192;

  /** Every state of a file between two commits: some of the pages that differ are written, in the order of the file or another. */
  function* between(before: Buffer, after: Buffer): Generator<Buffer> {
    const pages = Array.from({ length: after.length / PAGE }, (_, page) => page * PAGE);
    const changed = pages.filter(
      (at) => !before.subarray(at, at + PAGE).equals(after.subarray(at, at + PAGE)),
    );
    for (const order of [changed, changed.toReversed()]) {
      for (let written = 1; written < order.length; written += 1) {
        const done = order.slice(0, written);
        const file = Buffer.alloc(Math.max(before.length, ...done.map((at) => at + PAGE)));
        before.copy(file);
        for (const at of done) after.copy(file, at, at, at + PAGE);
        yield file;
      }
    }
  }

  test('is whole, or it is refused: it never knows less than before the commit', async () => {
    const folder = await testFolder();
    const path = join(folder, 'journal');
    const copy = join(folder, 'copy');
    const journal = openJournal({ path, baseUrl: URL, restart: false });
    const links = Array.from({ length: 700 }, (_, n) =>
      stored(linkIdentity({ target_url: `https://example.com/catalogue/item/${n}` }, undefined)),
    );
    const none = { idempotencyKey: undefined, domain: undefined };
    const results = links.map((_, n) => ({
      status: 'created' as const,
      code: `c${n}`,
      short_url: `https://s.example/c${n}`,
    }));
    let batch = { id: 0 };
    const steps = [1, 2, 3].flatMap(() => [
      () => {
        batch = journal.begin({ links, sentAt: '2026-01-01T00:00:00.000Z', ...none });
      },
      () => journal.note(batch.id, 'accepted', { job: 'job-1' }),
      () => journal.decide(batch, { results, isFinal: true }),
      () => journal.willWrite('content'),
    ]);
    const counts = { refused: 0, whole: 0 };
    const stateOf = (of: Journal) => JSON.stringify(of.batches());
    for (const step of steps) {
      const [before, old] = [readFileSync(path), stateOf(journal)];
      step();
      const [after, now] = [readFileSync(path), stateOf(journal)];
      for (const file of between(before, after)) {
        writeFileSync(copy, file);
        try {
          const read = peekJournal({ path: copy, baseUrl: URL, restart: false });
          expect([old, now]).toContain(stateOf(read));
          read.close();
          counts.whole += 1;
        } catch (error) {
          expect(error).toMatchObject({
            code: 'input',
            message: expect.stringMatching(/copy is damaged: /),
            hint: expect.stringContaining('--known'),
          });
          counts.refused += 1;
        }
      }
    }
    journal.close();
    expect(counts.refused).toBeGreaterThan(50);
  });
});
