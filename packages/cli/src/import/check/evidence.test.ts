import { join } from 'node:path';
import { StatementSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { testFolder } from '../../../test/test-io.ts';
import type { Journal } from '../journal/journal.ts';
import { openJournal } from '../journal/open-journal.ts';
import { linkIdentity, madeFor } from '../map/link-identity.ts';
import { Evidence } from './evidence.ts';
import { KNOWN_BY } from './evidence-sql.ts';

test('links that were found elsewhere are recorded without all of them being in memory at once', async () => {
  const path = join(await testFolder(), 'journal');
  const journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
  const evidence = new Evidence(journal);
  evidence.begin('sorted');
  const count = 11_000;
  for (let n = 0; n < count; n += 1) {
    const identity = linkIdentity({ target_url: `https://example.com/${n}` }, undefined);
    evidence.addRow(n, { line: n + 2, own: undefined, doubt: undefined, made_for: '' }, identity);
    const own = { code: `c${n}`, short_url: `https://s.example/c${n}`, made_for: '' };
    evidence.addLink(KNOWN_BY.service, identity, { own, doubt: undefined });
  }
  await evidence.compare();
  const all = vi.spyOn(StatementSync.prototype, 'all');
  await evidence.adopt(false);
  const sizes = all.mock.results.map(({ value }) => value.length);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(10_000);
  expect(journal.batches().map(({ created }) => created)).toEqual([10_000, 1_000]);
  vi.restoreAllMocks();
  journal.close();
});

test('doubts are settled without all of them being in memory at once', async () => {
  const path = join(await testFolder(), 'journal');
  const journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
  const count = 11_000;
  const identities = Array.from({ length: count + 1_000 }, (_, n) =>
    linkIdentity({ target_url: `https://example.com/${n}` }, undefined),
  );
  const ofJournal = identities.slice(0, count);
  journal.add(ofJournal.map((one) => ({ ...one, status: 'unknown', error: 'lost' })));
  const evidence = new Evidence(journal);
  evidence.begin('sorted');
  for (const [n, identity] of identities.entries()) {
    // The last ones are doubted by a file only; every tenth link does not exist.
    evidence.addRow(n, { line: n + 2, own: undefined, doubt: undefined, made_for: '' }, identity);
    if (n >= count) evidence.addLink(KNOWN_BY.results, identity, { own: undefined, doubt: 'lost' });
    const own = { code: `c${n}`, short_url: `https://s.example/c${n}`, made_for: '' };
    if (n % 10 > 0) evidence.addLink(KNOWN_BY.service, identity, { own, doubt: undefined });
  }
  await evidence.compare();
  const all = vi.spyOn(StatementSync.prototype, 'all');
  await evidence.settle();
  const sizes = all.mock.results.map(({ value }) => value.length);
  vi.restoreAllMocks();
  expect(Math.max(...sizes)).toBeLessThanOrEqual(10_000);
  const { existing, unknown } = await evidence.compare();
  expect([existing, unknown]).toEqual([10_800, 0]);
  expect(journal.batches().map(({ created }) => created)).toEqual([9_000, 900, 900]);
  journal.close();
});

test('rows that could not be read again are read by the next comparison', async () => {
  const path = join(await testFolder(), 'journal');
  const journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
  const identity = linkIdentity({ target_url: 'https://example.com/1' }, undefined);
  const evidence = new Evidence(journal);
  const addRow = () =>
    evidence.addRow(0, { line: 2, own: undefined, doubt: undefined, made_for: '' }, identity);
  addRow();
  const own = { code: 'c1', short_url: 'https://s.example/c1', made_for: '' };
  evidence.addLink(KNOWN_BY.service, identity, { own, doubt: undefined });
  evidence.addRows = () => Promise.reject(new Error('too many open files'));
  await expect(evidence.compare()).rejects.toThrow('too many open files');
  evidence.addRows = async () => addRow();
  expect((await evidence.compare()).existing).toBe(1);
  journal.close();
});

test('rows ask for the links of a batch only, and not for the first one of the next', async () => {
  const path = join(await testFolder(), 'journal');
  const journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
  const [gone, asked] = ['https://example.com/1', 'https://example.com/2'].map((target_url) =>
    linkIdentity({ target_url }, undefined),
  );
  if (gone === undefined || asked === undefined) throw new Error('two links');
  for (const one of [gone, asked]) journal.add([{ ...one, status: 'unknown', error: 'lost' }]);
  const evidence = new Evidence(journal);
  evidence.begin('sorted');
  evidence.addRow(0, { line: 2, own: undefined, doubt: undefined }, asked);
  await evidence.compare();
  expect(journal.batches().map((batch) => evidence.asksFor(batch))).toEqual([false, true]);
  journal.close();
});

test('a link in doubt that was asked for with another target is none of its row', async () => {
  const path = join(await testFolder(), 'journal');
  const journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
  const [before, now] = ['https://example.com/1', 'https://example.com/2'].map((target_url) =>
    linkIdentity({ target_url }, undefined),
  );
  if (before === undefined || now === undefined) throw new Error('two links');
  const evidence = new Evidence(journal);
  evidence.begin('sorted');
  evidence.addRow(0, { line: 2, own: undefined, doubt: undefined }, now);
  // Somebody has written the target over, and has left the cells beside it.
  const doubt = { own: undefined, doubt: 'lost', made_for: madeFor(before) };
  for (const source of [KNOWN_BY.results, KNOWN_BY.beside]) evidence.addLink(source, now, doubt);
  expect((await evidence.compare()).unknown).toBe(0);
  expect(evidence.similar().lines).toBe(0);
  evidence.addLink(KNOWN_BY.beside, now, { ...doubt, made_for: madeFor(now) });
  await evidence.compare();
  expect(evidence.similar().lines).toBe(1);
  journal.close();
});

test('what a row and the results beside its file doubt is one link', async () => {
  const path = join(await testFolder(), 'journal');
  const journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
  const identity = linkIdentity({ target_url: 'https://example.com/1' }, undefined);
  const evidence = new Evidence(journal);
  evidence.begin('sorted');
  const doubt = { own: undefined, doubt: 'lost', made_for: madeFor(identity) };
  // The results were copied over the input, and a row with the same target was added.
  evidence.addRow(0, { line: 2, ...doubt }, identity);
  evidence.addRow(1, { line: 3, own: undefined, doubt: undefined }, identity);
  evidence.addLink(KNOWN_BY.results, identity, doubt);
  expect((await evidence.compare()).unknown).toBe(1);
  expect((await evidence.adopt(false)).unknown).toBe(1);
  journal.close();
});

test.each([
  ['since its file was written is no doubt of its row', true, 0],
  ['before its file was written is another one than its row doubts', false, 1],
])('a link that was learned %s', async (_, isDoubted, unknown) => {
  const path = join(await testFolder(), 'journal');
  const open = () => openJournal({ path, baseUrl: 'https://api.example', restart: false });
  const sent = { target_url: 'https://example.com/1', title: 'before' };
  const [before, now] = [sent, { ...sent, title: 'now' }].map((link) =>
    linkIdentity(link, undefined),
  );
  if (before === undefined || now === undefined) throw new Error('two links');
  const first = open();
  const batch = first.begin({
    links: [sent],
    sentAt: '',
    idempotencyKey: undefined,
    domain: undefined,
  });
  if (isDoubted) first.willWrite('a file that says unknown');
  const link = { code: 'c1', short_url: 'https://s.example/c1' };
  first.decide(batch, { results: [{ status: 'created', ...link }], isFinal: true });
  first.willWrite('a file that was lost in a power cut');
  first.close();
  const journal = open();
  const evidence = new Evidence(journal);
  evidence.begin('sorted');
  // The row was edited, and a row as it was before has its link.
  const doubt = { own: undefined, doubt: 'lost', made_for: madeFor(before) };
  evidence.addRow(0, { line: 2, ...doubt }, now);
  evidence.addRow(1, { line: 3, own: undefined, doubt: undefined }, before);
  expect(await evidence.compare()).toMatchObject({ existing: 1, unknown });
  journal.close();
});

test('rows that could not be written at once are not forgotten', async () => {
  const path = join(await testFolder(), 'journal');
  const journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
  const evidence = new Evidence(journal);
  evidence.begin('sorted');
  const identity = linkIdentity({ target_url: 'https://example.com/1' }, undefined);
  evidence.addRow(0, { line: 2, own: undefined, doubt: undefined }, identity);
  const own = { code: 'c1', short_url: 'https://s.example/c1', made_for: '' };
  evidence.addLink(KNOWN_BY.service, identity, { own, doubt: undefined });
  const full = () => {
    throw new Error('disk full');
  };
  for (const _ of ['row', 'link']) {
    vi.spyOn(StatementSync.prototype, 'run').mockImplementationOnce(full);
    await expect(evidence.compare()).rejects.toThrow('disk full');
    vi.restoreAllMocks();
  }
  expect(await evidence.compare()).toMatchObject({ existing: 1 });
  journal.close();
});

test('a comparison that the disk has undone is made again with all links and doubts', async () => {
  const path = join(await testFolder(), 'journal');
  const journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
  const [known, doubted] = [1, 2].map((n) =>
    linkIdentity({ target_url: `https://example.com/${n}` }, undefined),
  );
  if (known === undefined || doubted === undefined) throw new Error('two links');
  const link = { status: 'created', code: 'c1', short_url: 'https://s.example/c1' } as const;
  const own = { code: 'c2', short_url: 'https://s.example/c2', made_for: '' };
  journal.add([{ ...known, ...link }]);
  const evidence = new Evidence(journal);
  evidence.addRows = async () => {
    evidence.addRow(0, { line: 2, own: undefined, doubt: undefined }, known);
    evidence.addRow(1, { line: 3, own: undefined, doubt: 'lost' }, doubted);
    evidence.addRow(2, { line: 4, own, doubt: undefined }, known);
  };
  await evidence.addRows();
  const { exec } = journal.db;
  journal.db.exec = (query) => {
    if (query !== 'COMMIT') return exec.call(journal.db, query);
    journal.db.exec = exec;
    throw new Error('disk full');
  };
  await expect(evidence.compare()).rejects.toThrow('disk full');
  expect(await evidence.compare()).toMatchObject({ existing: 2, unknown: 1 });
  journal.close();
});

test.each([
  ['a row that may have a link goes before another one', 1, 1],
  ['a link that exists is given before one that may exist', 2, 2],
])('rows of one target are in doubt only where no link is left: %s', async (_, links, existing) => {
  const path = join(await testFolder(), 'journal');
  const journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
  const [sent, edited] = ['sent', 'edited'].map((title) =>
    linkIdentity({ target_url: 'https://example.com/1', title }, undefined),
  );
  if (sent === undefined || edited === undefined) throw new Error('two links');
  if (links > 1) journal.add([{ ...sent, status: 'unknown', error: 'lost' }]);
  for (let n = 1; n <= links; n += 1) {
    const link = {
      status: 'created',
      code: `c${n}`,
      short_url: `https://s.example/c${n}`,
    } as const;
    journal.add([{ ...sent, ...link }]);
  }
  const evidence = new Evidence(journal);
  evidence.begin('sorted');
  evidence.addRow(0, { line: 2, own: undefined, doubt: undefined }, edited);
  const doubt = { own: undefined, doubt: 'lost', made_for: madeFor(sent) };
  evidence.addRow(1, { line: 3, ...doubt }, edited);
  expect(await evidence.compare()).toMatchObject({ existing, unknown: 0 });
  journal.close();
});

test.each(['in order', 'sorted'] as const)(
  'a row with the key of another target by chance has not its link: %s',
  async (how) => {
    const path = join(await testFolder(), 'journal');
    const journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
    const known = linkIdentity({ target_url: 'https://example.com/1' }, undefined);
    const link = { status: 'created', code: 'c1', short_url: 'https://s.example/c1' } as const;
    journal.add([{ ...known, ...link }]);
    const evidence = new Evidence(journal);
    evidence.begin(how);
    const other = { ...known, pair: 'https://example.com/2' };
    evidence.addRow(0, { line: 2, own: undefined, doubt: undefined }, other);
    expect(await evidence.compare()).toMatchObject({ existing: 0, gone: 1 });
    journal.close();
  },
);

describe('links of equal rows', () => {
  const at = (n: number) => ({ code: `c${n}`, short_url: `https://s.example/c${n}` });
  const equal = linkIdentity({ target_url: 'https://example.com/1' }, undefined);
  const inDoubt = { own: undefined, doubt: 'lost', made_for: madeFor(equal) };
  const isNew = { own: undefined, doubt: undefined };
  const begun = { sentAt: '', idempotencyKey: undefined, domain: undefined };
  const links = [{ target_url: 'https://example.com/1' }];
  let path: string;
  let journal: Journal;
  beforeEach(async () => {
    path = join(await testFolder(), 'journal');
    journal = openJournal({ path, baseUrl: 'https://api.example', restart: false });
  });
  afterEach(() => journal.close());

  test('a doubt of a row is not one of a link that another row names', async () => {
    const batch = journal.begin({ links, ...begun });
    journal.willWrite('a file that says unknown');
    journal.decide(batch, { results: [{ status: 'created', ...at(1) }], isFinal: true });
    const evidence = new Evidence(journal);
    evidence.begin('sorted');
    evidence.addRow(0, { line: 2, own: { ...at(1), made_for: '' }, doubt: undefined }, equal);
    evidence.addRow(1, { line: 3, ...inDoubt }, equal);
    expect(await evidence.compare()).toMatchObject({ existing: 1, unknown: 1 });
  });

  test.each([
    ['is still in doubt where its request is open', ['failed', 'unknown'], false, 2],
    ['is still in doubt where a file was written since', ['failed'], true, 1],
    ['is new where no file says so yet', ['failed'], false, 0],
  ] as const)(
    'a row that doubts a link that was refused %s',
    async (_, statuses, isTold, unknown) => {
      const batch = journal.begin({ links: statuses.flatMap(() => links), ...begun });
      journal.willWrite('a file that says unknown');
      const results = statuses.map((status) => ({ status, error: status }));
      journal.decide(batch, { results, isFinal: unknown < 2 });
      if (isTold) journal.willWrite('a file that says failed');
      const evidence = new Evidence(journal);
      evidence.begin('sorted');
      for (const n of statuses.keys()) evidence.addRow(n, { line: n + 2, ...inDoubt }, equal);
      expect(await evidence.compare()).toMatchObject({ existing: 0, unknown });
    },
  );

  test('what results doubt is a link that was learned in this run, and the other row is new', async () => {
    const batch = journal.begin({ links, ...begun });
    const evidence = new Evidence(journal);
    evidence.begin('sorted');
    evidence.addLink(KNOWN_BY.results, equal, inDoubt);
    for (const n of [0, 1]) evidence.addRow(n, { line: n + 2, ...isNew }, equal);
    journal.decide(batch, { results: [{ status: 'created', ...at(1) }], isFinal: true });
    expect(await evidence.compare()).toMatchObject({ existing: 1, unknown: 0 });
  });

  test('what the journal and two files doubt is one link', async () => {
    journal.begin({ links, ...begun });
    const evidence = new Evidence(journal);
    evidence.begin('sorted');
    for (const source of [KNOWN_BY.results, KNOWN_BY.known])
      evidence.addLink(source, equal, inDoubt);
    for (const n of [0, 1]) evidence.addRow(n, { line: n + 2, ...isNew }, equal);
    expect(await evidence.compare()).toMatchObject({ existing: 0, unknown: 1 });
  });

  test('a job that still runs does not say of which row a link is', async () => {
    const batch = journal.begin({ links: [...links, ...links], ...begun });
    const link = { status: 'created', ...at(1) } as const;
    const lacking = { status: 'unknown', error: 'not done yet' } as const;
    journal.decide(batch, { results: [link, lacking], isFinal: false, job: 'job-1' });
    const evidence = new Evidence(journal);
    for (const n of [0, 1]) evidence.addRow(n, { line: n + 2, ...isNew }, equal);
    expect(await evidence.compare()).toMatchObject({ existing: 1, unknown: 1 });
    journal.decide(batch, { results: [{ status: 'failed', error: 'no' }, link], isFinal: true });
    expect(await evidence.compare()).toMatchObject({ existing: 1, unknown: 0 });
    expect(evidence.matches()(0)).toMatchObject(at(1));
  });

  test('a doubt of a file that the service has settled is recorded once, however often it is asked', async () => {
    const evidence = new Evidence(journal);
    evidence.begin('sorted');
    evidence.addLink(KNOWN_BY.results, equal, inDoubt);
    evidence.addRow(0, { line: 2, ...isNew }, equal);
    await evidence.compare();
    const own = { ...at(1), made_for: '' };
    evidence.addLink(KNOWN_BY.service, equal, { own, doubt: undefined });
    for (const _ of ['once', 'again']) await evidence.settle();
    expect(await evidence.compare()).toMatchObject({ existing: 1, gone: 0 });
    expect(journal.batches().map(({ created }) => created)).toEqual([1]);
  });
});
