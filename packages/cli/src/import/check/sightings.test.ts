import { expect, test } from 'vitest';
import { Sightings } from './sightings.ts';

test('each text that comes again is seen, and nearly no other', () => {
  const sightings = new Sightings();
  const texts = Array.from({ length: 100_000 }, (_, n) => `https://s.example/${n.toString(36)}`);
  expect(texts.filter((text) => sightings.add(text)).length).toBeLessThan(3);
  expect(texts.every((text) => sightings.add(text))).toBe(true);
});
