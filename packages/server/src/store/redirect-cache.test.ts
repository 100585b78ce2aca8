import { expect, onTestFinished, test, vi } from 'vitest';
import {
  type CachedLink,
  GENERATION_CHARS,
  GENERATION_LINKS,
  OUTAGE_MAX_AGE_MS,
  RedirectCache,
  UNKNOWN_CODE_MAX_AGE_MS,
} from './redirect-cache.ts';
import type { Redirect } from './store.ts';

const redirect: Redirect = {
  target_url: 'https://example.com/',
  redirect_type: 302,
  is_active: true,
  hostname: null,
  owners: ['acc_1'],
};
const disabled: Redirect = { ...redirect, is_active: false };

/** A cache over a map of links, with a clock and a record of the look-ups. It has heard from the store once. */
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
  const cache = new RedirectCache(store, () => clock.now);
  cache.apply('all');
  return { links, lookups, clock, store, cache };
}

test('a link is looked up once, and again after it changed', async () => {
  const { cache, links, lookups, clock } = setUp();
  links.set('a', redirect).set('b', redirect);
  await cache.find('b');
  for (let second = 0; second < 10; second += 1) {
    expect(await cache.find('a')).toBe(redirect);
    clock.now += 1_000;
    cache.apply([]);
  }
  links.set('a', disabled);
  cache.apply(['a']);
  expect(cache.get('a')).toBeUndefined();
  expect(await cache.find('a')).toBe(disabled);
  expect(cache.get('b')).toBe(redirect);
  expect(lookups).toEqual(['b', 'a', 'a']);
});

test('when any link may have changed, every link is looked up again', async () => {
  const { cache, links, lookups } = setUp();
  links.set('a', redirect).set('b', redirect);
  await Promise.all([cache.find('a'), cache.find('b')]);
  cache.apply('all');
  await Promise.all([cache.find('a'), cache.find('b')]);
  expect(lookups).toEqual(['a', 'b', 'a', 'b']);
});

test('when an account or a domain changed, the links of that one alone are looked up again', async () => {
  const { cache, links, lookups } = setUp();
  const onDomain = { ...redirect, owners: ['acc_1', 'dom_1'] };
  links
    .set('a', redirect)
    .set('b', { ...redirect, owners: ['acc_2'] })
    .set('c', onDomain);
  const followAll = () => Promise.all(['a', 'b', 'c'].map((code) => cache.find(code)));
  await followAll();
  lookups.length = 0;
  cache.apply(['dom_1']);
  await followAll();
  expect(lookups.splice(0)).toEqual(['c']);
  cache.apply(['acc_1']);
  await followAll();
  expect(lookups.toSorted()).toEqual(['a', 'c']);
});

/** Fills a generation, so that what was followed before is in the older one. */
function fillGeneration(cache: RedirectCache) {
  cache.restore(Array.from({ length: GENERATION_LINKS }, (_, n) => [`${n}`, redirect]));
}

test('a link that nobody followed for a while is looked up again, too, when it, its account or its alias changed', async () => {
  const { cache, links, lookups } = setUp();
  links
    .set('/alias', { ...redirect, owners: ['acc_1', 'c'], code: 'c' })
    .set('a', redirect)
    .set('b', { ...redirect, owners: ['acc_2'] });
  const codes = [...links.keys()];
  for (const code of codes) await cache.find(code);
  fillGeneration(cache);
  cache.apply(['a', 'acc_2']);
  cache.apply(['c']);
  for (const code of codes) await cache.find(code);
  expect(lookups).toEqual([...codes, ...codes]);
});

test('a link that nobody followed for a while, and that is gone, is not served while the store is away', async () => {
  const { cache, links, store } = setUp();
  links.set('a', redirect);
  await cache.find('a');
  fillGeneration(cache);
  links.clear();
  cache.apply('all');
  expect(await cache.find('a')).toBeUndefined();
  cache.apply('all');
  store.findRedirect = () => Promise.reject(new Error('down'));
  await expect(cache.find('a')).rejects.toThrow('down');
});

test('links of an earlier run are served while the store can not be asked, and looked up while it can', async () => {
  const { cache: earlier, links } = setUp();
  for (let n = 0; n < 2 * GENERATION_LINKS; n += 1) {
    links.set(`${n}`, redirect);
    await earlier.find(`${n}`);
  }
  const kept = earlier.links();
  expect(kept).toHaveLength(GENERATION_LINKS);
  expect(kept.at(-1)).toEqual([expect.any(String), redirect]);
  const { cache, store, links: present } = setUp();
  cache.restore(kept.map(([code, link]) => [code, link, 7]));
  // Those that nobody follows are kept for the next run, as old as they are.
  const [[changed = ''] = []] = kept.slice(-1);
  cache.apply([changed]);
  expect(cache.links()).toHaveLength(GENERATION_LINKS - 1);
  expect(cache.links().every(([code, , at]) => code !== changed && at === 7)).toBe(true);
  const [[code = ''] = []] = kept;
  present.set(code, disabled);
  expect(cache.get(code)).toBeUndefined();
  const { findRedirect } = store;
  store.findRedirect = () => Promise.reject(new Error('down'));
  expect(await cache.find(code)).toEqual(redirect);
  store.findRedirect = findRedirect;
  expect(await cache.find(code)).toEqual(disabled);
});

test('a look-up that a change overtakes is not kept, and not shared with those who ask later', async () => {
  const { cache, store } = setUp();
  const answers: ((link: Redirect) => void)[] = [];
  store.findRedirect = () => new Promise((resolve) => answers.push(resolve));
  const before = cache.find('a');
  cache.apply(['a']);
  const after = cache.find('a');
  answers[0]?.(redirect);
  expect(await before).toBe(redirect);
  expect(cache.get('a')).toBeUndefined();
  answers[1]?.(disabled);
  expect(await after).toBe(disabled);
  expect(cache.get('a')).toBe(disabled);
});

test('an unknown code is remembered for a moment', async () => {
  const { cache, links, lookups, clock } = setUp();
  expect(await cache.find('a')).toBeUndefined();
  links.set('a', redirect);
  clock.now += UNKNOWN_CODE_MAX_AGE_MS - 1;
  expect(await cache.find('a')).toBeUndefined();
  expect(lookups).toEqual(['a']);
  clock.now += 1;
  expect(await cache.find('a')).toBe(redirect);
});

test('an unknown code is remembered from the time on at which it was asked for', async () => {
  const { cache, links, clock, store } = setUp();
  const { findRedirect } = store;
  store.findRedirect = async (code) => {
    clock.now += UNKNOWN_CODE_MAX_AGE_MS;
    return findRedirect(code);
  };
  expect(await cache.find('a')).toBeUndefined();
  links.set('a', redirect);
  expect(await cache.find('a')).toBe(redirect);
});

test('a scan of unknown codes does not push out links', async () => {
  const { cache, links, lookups } = setUp();
  links.set('a', redirect);
  await cache.find('a');
  for (let n = 0; n < 2 * GENERATION_LINKS; n += 1) await cache.find(`unknown ${n}`);
  lookups.length = 0;
  await cache.find('a');
  await cache.find('unknown 0');
  expect(lookups).toEqual(['unknown 0']);
});

test('memory is bounded: what nobody follows is dropped, what is followed stays', async () => {
  const { cache, links } = setUp();
  links.set('followed', redirect);
  await cache.find('followed');
  for (let n = 0; n < 4 * GENERATION_LINKS; n += 1) {
    links.set(`${n}`, redirect);
    await cache.find(`${n}`);
    if (cache.get('followed') === undefined) throw new Error(`dropped at ${n}`);
  }
  expect(cache.get('0')).toBeUndefined();
  expect(cache.get(`${3 * GENERATION_LINKS}`)).toBeDefined();
});

test('memory is bounded: long target URLs are dropped sooner', async () => {
  const { cache, links } = setUp();
  const long = { ...redirect, target_url: `https://example.com/${'a'.repeat(2_028)}` };
  const fitting = Math.floor(GENERATION_CHARS / long.target_url.length);
  const keep = async (from: number, to: number) => {
    for (let n = from; n < to; n += 1) {
      links.set(`${n}`, long);
      await cache.find(`${n}`);
    }
  };
  await keep(0, 2 * fitting);
  expect(cache.get('1')).toBeDefined();
  const kept = cache.links().reduce((sum, [, link]) => sum + link.target_url.length, 0);
  expect(kept).toBeLessThanOrEqual(GENERATION_CHARS);
  await keep(2 * fitting, 3 * fitting);
  expect(cache.get('0')).toBeUndefined();
  expect(cache.get(`${3 * fitting - 1}`)).toBeDefined();
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

test('while the store is away or hangs, links in memory are served for an hour without asking it', async () => {
  const { cache, links, clock, store } = setUp();
  links.set('a', redirect);
  await cache.find('a');
  let asked = 0;
  store.findRedirect = () => {
    asked += 1;
    return new Promise(() => undefined);
  };
  expect(OUTAGE_MAX_AGE_MS).toBe(60 * 60 * 1_000);
  clock.now += OUTAGE_MAX_AGE_MS - 1;
  expect(await cache.find('a')).toBe(redirect);
  expect(asked).toBe(0);
  clock.now += 1;
  expect(cache.get('a')).toBeUndefined();
});

test('a link that was forgotten is served as it was when the store fails, or does not respond for a moment', async () => {
  const { cache, links, clock, store } = setUp();
  const { findRedirect } = store;
  links.set('a', redirect).set('b', redirect).set('gone', redirect);
  for (const code of ['a', 'b', 'gone']) await cache.find(code);
  cache.apply('all');
  cache.apply(['b']);
  store.findRedirect = () => Promise.reject(new Error('down'));
  expect(cache.get('a')).toBeUndefined();
  expect(await cache.find('a')).toBe(redirect);
  expect(await cache.find('b')).toBe(redirect);
  await expect(cache.find('unknown')).rejects.toThrow('down');
  store.findRedirect = () => new Promise(() => undefined);
  cache.apply(['a']);
  expect(await cache.find('a')).toBe(redirect);
  store.findRedirect = findRedirect;
  links.set('a', disabled).delete('gone');
  cache.apply('all');
  expect(await cache.find('a')).toBe(disabled);
  expect(await cache.find('gone')).toBeUndefined();
  cache.apply('all');
  store.findRedirect = () => Promise.reject(new Error('down'));
  expect(await cache.find('a')).toBe(disabled);
  await expect(cache.find('gone')).rejects.toThrow('down');
  clock.now += OUTAGE_MAX_AGE_MS;
  await expect(cache.find('a')).rejects.toThrow('down');
});

test('a visitor of a link that was forgotten waits 300 ms for a store that hangs, and no longer', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { cache, links, store } = setUp();
  links.set('a', redirect);
  await cache.find('a');
  cache.apply(['a']);
  store.findRedirect = () => new Promise(() => undefined);
  let served: Redirect | undefined;
  void cache.find('a').then((found) => {
    served = found;
  });
  await vi.advanceTimersByTimeAsync(299);
  expect(served).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(served).toBe(redirect);
});

test('nothing is served from memory before the store was asked what changed', async () => {
  const links = new Map([['a', redirect]]);
  const cache = new RedirectCache({ findRedirect: async (code) => links.get(code) });
  expect(await cache.find('a')).toBe(redirect);
  links.set('a', disabled);
  expect(await cache.find('a')).toBe(disabled);
});

test('a link that was followed again after many others is kept over a restart once, as it is by now', async () => {
  const { cache } = setUp();
  cache.apply([]);
  const code = (n: number) => String(n);
  const links = Array.from(
    { length: GENERATION_LINKS },
    (_, n): CachedLink => [code(n), redirect, 7],
  );
  cache.restore(links);
  cache.restore([['new', redirect, 7]]);
  expect(cache.has('0')).toBe(true);
  const kept = cache.links().map(([of]) => of);
  expect(kept.slice(-2)).toEqual(['0', 'new']);
  expect(new Set(kept).size).toBe(kept.length);
  expect(kept).toHaveLength(GENERATION_LINKS);
});
