import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { openInput } from '../../../tables/src/open-input.ts';
import { detectLayout } from '../../src/import/layout.ts';
import {
  type Reported,
  type RowOutcome,
  resultsText,
} from '../../src/import/report/report-rows.ts';
import type { ImportSettings } from '../../src/import/types.ts';
import { testFolder } from '../test-io.ts';

const OWN = { code: 'b', short_url: 'https://sho.rt/b', made_for: '0123abcd' };
const LINE = 'https://example.com/b,b,https://sho.rt/b,created,,0123abcd\n';

/** The line that becomes of a row whose cells name a link that is none of the row. */
async function lineOf(outcome: RowOutcome, inPlace: boolean): Promise<string | undefined> {
  const path = join(await testFolder(), 'links.csv');
  writeFileSync(path, `target_url,code,short_url,status,error,made_for\n${LINE}`);
  const input = await openInput(path, Readable.from([]));
  const layout = await detectLayout(input, { map: {}, inputFormat: 'auto' });
  const row = { line: 2, cells: LINE.trim().split(',') };
  async function* reported(): AsyncGenerator<Reported> {
    yield [{ row, outcome }];
  }
  const settings = { outputFormat: 'csv', inPlace } as ImportSettings;
  let text = '';
  for await (const piece of resultsText(reported(), layout, settings)) text += piece;
  await input.dispose();
  return text.split('\n')[1];
}

const UNSENT: RowOutcome = { status: 'unsent', error: 'later', own: OWN };
const UNKNOWN: RowOutcome = { status: 'unknown', error: 'sent', made_for: '89abcdef', own: OWN };

test('in place, a link that is none of any row stays as long as its row has no other', async () => {
  expect(await lineOf(UNSENT, true)).toBe(
    'https://example.com/b,b,https://sho.rt/b,unsent,later,0123abcd',
  );
  expect(await lineOf(UNSENT, false)).toBe('https://example.com/b,,,unsent,later,');
});

test('beside a link that may exist for the row, another one would be taken for it', async () => {
  expect(await lineOf(UNKNOWN, true)).toBe('https://example.com/b,,,unknown,sent,89abcdef');
  expect(await lineOf(UNKNOWN, false)).toBe('https://example.com/b,,,unknown,sent,89abcdef');
});
