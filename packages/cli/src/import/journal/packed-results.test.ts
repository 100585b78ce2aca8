import type { RecordedResult } from '@shortlink/sdk';
import { expect, it } from 'vitest';
import { packResults, unpackResult } from './packed-results.ts';

const unpacked = (results: readonly RecordedResult[], missing?: string) => {
  const packed = packResults(results, missing);
  return results.map((_, index) => unpackResult(JSON.parse(JSON.stringify(packed)), index));
};

it('keeps codes, short URLs that do not begin like the others, and errors', () => {
  const created = { code: 'a1', short_url: 'https://s.example/a1' };
  const elsewhere = { code: 'b2', short_url: 'https://other.example/go/b2' };
  const refused = { error: 'title is refused' };
  expect(unpacked([created, elsewhere, refused])).toEqual([
    { status: 'created', ...created },
    { status: 'created', ...elsewhere },
    { status: 'failed', ...refused },
  ]);
});

it('a link without a result is unknown, for the reason that its batch has', () => {
  expect(unpacked([{}], 'lost')).toEqual([{ status: 'unknown', error: 'lost' }]);
  expect(unpacked([{ error: '' }])).toEqual([
    { status: 'unknown', error: 'the response of the service does not hold this link' },
  ]);
});
