import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readDocument } from './document.ts';
import { openInput } from './open-input.ts';

const directory = mkdtempSync(join(tmpdir(), 'shortlink-document-'));
afterAll(() => rmSync(directory, { recursive: true }));

test('spaces in a document stay where one read of the file ends and the next begins', async () => {
  const path = join(directory, 'links.json');
  const links = [{ title: ' '.repeat(300_000) }];
  writeFileSync(path, `\n ${JSON.stringify({ links })}\n`);
  const input = await openInput(path, (async function* () {})());
  expect(await readDocument(input)).toMatchObject({ links });
});

test.each([
  [1, 2, true],
  [2, 2, false],
])('page %i of %i is followed by another one: %s', async (currentPage, pagesCount, hasNext) => {
  const path = join(directory, 'page.json');
  const pagination = { currentPage, pagesCount };
  writeFileSync(path, JSON.stringify({ shortUrls: { data: [{ shortCode: 'a' }], pagination } }));
  const input = await openInput(path, (async function* () {})());
  expect(await readDocument(input)).toMatchObject({ hasNext });
});
