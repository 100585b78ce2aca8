import { expect, test, vi } from 'vitest';
import { CODE_ALPHABET, generateCode, newId, newUuid, UUID, uuidOf } from './ids.ts';

test('the alphabet has 57 characters, none read for another', () => {
  expect(new Set(CODE_ALPHABET).size).toBe(57);
  expect(CODE_ALPHABET).toMatch(/^[0-9A-Za-z]+$/);
  expect(CODE_ALPHABET).not.toMatch(/[0O1lI]/);
});

test('codes have 7 characters of the alphabet, every character equally often', () => {
  const counts = new Map<string, number>();
  const codes = Array.from({ length: 20_000 }, generateCode);
  expect(codes.filter((code) => code.length !== 7)).toEqual([]);
  for (const character of codes.join('')) counts.set(character, (counts.get(character) ?? 0) + 1);
  expect([...counts.keys()].toSorted()).toEqual([...CODE_ALPHABET].toSorted());
  // Chi-square with 56 degrees of freedom: above 120 once in a million runs, and far above it with modulo bias.
  const expected = (20_000 * 7) / 57;
  const chiSquare = [...counts.values()].reduce(
    (sum, count) => sum + (count - expected) ** 2 / expected,
    0,
  );
  expect(chiSquare).toBeLessThan(120);
});

test('links and jobs have UUIDs of version 7, sorted by time', () => {
  const ids = Array.from({ length: 1_000 }, newUuid);
  expect(ids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(1_000);
});

test('the id of a link or a job tells when it was made, and nothing of the ids around it', () => {
  const before = Date.now();
  const ids = Array.from({ length: 1_000 }, newUuid);
  for (const id of ids) {
    const madeAt = Number.parseInt(id.replace('-', '').slice(0, 12), 16);
    expect(madeAt).toBeGreaterThanOrEqual(before);
    expect(madeAt).toBeLessThanOrEqual(Date.now());
  }
  // The random digits of several hundred ids are drawn at once.
  expect(new Set(ids.map((id) => id.slice(-8))).size).toBeGreaterThan(990);
});

test('ids of one millisecond count up, however many there are', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const ids = Array.from({ length: 10_000 }, newUuid);
  vi.useRealTimers();
  ids.push(newUuid());
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(10_001);
  expect(new Set(ids.map((id) => id.slice(20))).size).toBe(10_001);
});

test('a link that was created before 1970 has an id, too, and the first place', () => {
  expect(uuidOf(-1)).toMatch(UUID);
  expect(uuidOf(-1) < uuidOf(1)).toBe(true);
});

test('other ids say what they name', () => {
  expect(newId('acc_')).toMatch(/^acc_[2-9A-HJ-NP-Za-km-z]{12}$/);
  expect(newId('key_')).toMatch(/^key_[2-9A-HJ-NP-Za-km-z]{12}$/);
  expect(newId('dom_')).toMatch(/^dom_[2-9A-HJ-NP-Za-km-z]{12}$/);
});
