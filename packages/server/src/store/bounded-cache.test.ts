import { expect, test } from 'vitest';
import { BoundedCache } from './bounded-cache.ts';

function cacheAt(clock: { now: number }): BoundedCache<string> {
  return new BoundedCache({ maxEntries: 2, maxAgeMs: 100, now: () => clock.now });
}

test('an entry is used until its age is reached, however often it is used', () => {
  const clock = { now: 1_000 };
  const cache = cacheAt(clock);
  cache.set('a', 'A', 1_000);
  clock.now = 1_099;
  expect(cache.get('a')).toBe('A');
  clock.now = 1_100;
  expect(cache.get('a')).toBeUndefined();
  clock.now = 1_000;
  expect(cache.get('a')).toBeUndefined();
});

test('the age counts from when the value was read, not from when it arrived', () => {
  const clock = { now: 1_090 };
  const cache = cacheAt(clock);
  cache.set('a', 'A', 1_000);
  expect(cache.get('a')).toBe('A');
  clock.now = 1_100;
  expect(cache.get('a')).toBeUndefined();
});

test('the entry that was not used for longest makes place', () => {
  const cache = cacheAt({ now: 0 });
  cache.set('a', 'A', 0);
  cache.set('b', 'B', 0);
  cache.get('a');
  cache.set('c', 'C', 0);
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual(['A', undefined, 'C']);
});

test('setting an entry again takes no second place', () => {
  const cache = cacheAt({ now: 0 });
  cache.set('a', 'A', 0);
  cache.set('b', 'B', 0);
  cache.set('b', 'B2', 0);
  expect([cache.get('a'), cache.get('b')]).toEqual(['A', 'B2']);
});
