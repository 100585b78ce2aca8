import { expect, test } from 'vitest';
import {
  OUTAGE_MAX_AGE_MS,
  REDIRECT_MAX_AGE_MS,
  RedirectCache,
  UNKNOWN_CODE_MAX_AGE_MS,
  WATCHED_REDIRECT_MAX_AGE_MS,
} from './redirect-cache.ts';
import type { Redirect } from './store.ts';

const redirect: Redirect = {
  target_url: 'https://example.com/',
  redirect_type: 302,
  is_active: true,
  hostname: null,
};

/** A cache over a map of links, with a clock and a record of what was looked up. */
function setUp() {
  const links = new Map<string, Redirect>();
  const lookups: string[] = [];
  const clock = { now: 5_000 };
  const store = {
    findRedirect: async (code: string) => {
      lookups.push(code);
      return links.get(code);
    },
  };
  return {
    links,
    lookups,
    clock,
    store,
    cache: new RedirectCache({ store, now: () => clock.now }),
  };
}

test('a link is looked up once a second', async () => {
  const { cache, links, lookups, clock } = setUp();
  links.set('a', redirect);
  for (let n = 0; n < 10; n += 1) expect(await cache.find('a')).toBe(redirect);
  expect(lookups).toEqual(['a']);
  clock.now += REDIRECT_MAX_AGE_MS;
  expect(await cache.find('a')).toBe(redirect);
  expect(lookups).toEqual(['a', 'a']);
});

test('a link that was disabled elsewhere is seen within a second', async () => {
  const { cache, links, clock } = setUp();
  links.set('a', redirect);
  await cache.find('a');
  links.set('a', { ...redirect, is_active: false });
  clock.now += 999;
  expect(await cache.find('a')).toMatchObject({ is_active: true });
  clock.now += 1;
  expect(await cache.find('a')).toMatchObject({ is_active: false });
});

test('an unknown code is remembered for a shorter time', async () => {
  const { cache, links, lookups, clock } = setUp();
  expect(await cache.find('a')).toBeUndefined();
  links.set('a', redirect);
  clock.now += UNKNOWN_CODE_MAX_AGE_MS - 1;
  expect(await cache.find('a')).toBeUndefined();
  expect(lookups).toEqual(['a']);
  clock.now += 1;
  expect(await cache.find('a')).toBe(redirect);
});

test('a scan of unknown codes does not push out links', async () => {
  const { cache, links, lookups } = setUp();
  links.set('a', redirect);
  await cache.find('a');
  for (let n = 0; n < 30_000; n += 1) await cache.find(`unknown ${n}`);
  lookups.length = 0;
  await cache.find('a');
  await cache.find('unknown 0');
  expect(lookups).toEqual(['unknown 0']);
});

test('many who ask at the same time share one look-up', async () => {
  const { cache, links, lookups } = setUp();
  links.set('a', redirect);
  const answers = await Promise.all(Array.from({ length: 50 }, () => cache.find('a')));
  expect(answers.every((answer) => answer === redirect)).toBe(true);
  expect(lookups).toEqual(['a']);
});

test('a look-up that fails is not remembered', async () => {
  const { cache, links, store } = setUp();
  const { findRedirect } = store;
  store.findRedirect = () => Promise.reject(new Error('down'));
  await expect(cache.find('a')).rejects.toThrow('down');
  store.findRedirect = findRedirect;
  links.set('a', redirect);
  expect(await cache.find('a')).toBe(redirect);
});

test('while changes are told, a link is looked up once a minute, and at once after a change', async () => {
  const { cache, links, lookups, clock } = setUp();
  cache.connected(true);
  links.set('a', redirect);
  await cache.find('a');
  clock.now += WATCHED_REDIRECT_MAX_AGE_MS - 1;
  await cache.find('a');
  expect(lookups).toEqual(['a']);
  links.set('a', { ...redirect, is_active: false });
  cache.changed('a');
  expect(await cache.find('a')).toMatchObject({ is_active: false });
  clock.now += WATCHED_REDIRECT_MAX_AGE_MS;
  await cache.find('a');
  expect(lookups).toEqual(['a', 'a', 'a']);
});

test('what was read before changes were told, or while they were not, is looked up again', async () => {
  const { cache, links, lookups, clock } = setUp();
  links.set('a', redirect);
  await cache.find('a');
  clock.now += REDIRECT_MAX_AGE_MS;
  cache.connected(true);
  await cache.find('a');
  clock.now += REDIRECT_MAX_AGE_MS;
  cache.connected(false);
  await cache.find('a');
  expect(lookups).toEqual(['a', 'a', 'a']);
});

test('a look-up that a change came in between is not kept', async () => {
  const { cache, links, lookups, store } = setUp();
  cache.connected(true);
  links.set('a', redirect);
  const { findRedirect } = store;
  store.findRedirect = async (code) => {
    const before = await findRedirect(code);
    cache.changed(code);
    return before;
  };
  await cache.find('a');
  store.findRedirect = findRedirect;
  links.set('a', { ...redirect, is_active: false });
  expect(await cache.find('a')).toMatchObject({ is_active: false });
  expect(lookups).toEqual(['a', 'a']);
});

test('while the store is down, known links are served for an hour, and unknown ones fail', async () => {
  const { cache, links, clock, store } = setUp();
  links.set('a', redirect);
  await cache.find('a');
  store.findRedirect = () => Promise.reject(new Error('down'));
  clock.now += OUTAGE_MAX_AGE_MS - 1;
  expect(await cache.find('a')).toBe(redirect);
  await expect(cache.find('b')).rejects.toThrow('down');
  clock.now += 1;
  await expect(cache.find('a')).rejects.toThrow('down');
});

test('a store that does not answer holds known links up once, for a moment', async () => {
  const { cache, links, clock, store } = setUp();
  links.set('a', redirect);
  await cache.find('a');
  let asked = 0;
  store.findRedirect = () => {
    asked += 1;
    return new Promise(() => undefined);
  };
  clock.now += REDIRECT_MAX_AGE_MS;
  expect(await cache.find('a')).toBe(redirect);
  expect(await cache.find('a')).toBe(redirect);
  expect(asked).toBe(1);
});

test('when the store is back, a change is seen', async () => {
  const { cache, links, clock, store } = setUp();
  links.set('a', redirect);
  await cache.find('a');
  const { findRedirect } = store;
  store.findRedirect = () => Promise.reject(new Error('down'));
  clock.now += REDIRECT_MAX_AGE_MS;
  await cache.find('a');
  store.findRedirect = findRedirect;
  links.delete('a');
  clock.now += REDIRECT_MAX_AGE_MS;
  expect(await cache.find('a')).toBeUndefined();
});
