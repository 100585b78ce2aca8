import { expect, test } from 'vitest';
import { newAccountId, newDomainId, newKeyId, newUuid } from './ids.ts';

test('links and jobs have UUIDs of version 7, sorted by time', () => {
  const ids = Array.from({ length: 1_000 }, newUuid);
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(1_000);
});

test('other ids say what they name', () => {
  expect(newAccountId()).toMatch(/^acc_[2-9A-HJ-NP-Za-km-z]{12}$/);
  expect(newKeyId()).toMatch(/^key_[2-9A-HJ-NP-Za-km-z]{12}$/);
  expect(newDomainId()).toMatch(/^dom_[2-9A-HJ-NP-Za-km-z]{12}$/);
});
