import { expect, test } from 'vitest';
import { REDIRECT_MAX_AGE_MS, RedirectCache, UNKNOWN_CODE_MAX_AGE_MS } from './redirect-cache.ts';
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
