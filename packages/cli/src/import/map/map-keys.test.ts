import { expect, test } from 'vitest';
import type { ImportSettings } from '../types.ts';
import { keyMapping } from './map-keys.ts';

/** The fields that an object fills, by its keys. */
function meaningOf(object: object, map: ImportSettings['map'] = {}, usual = 'url') {
  const columns = ['url', 'page', ...Object.keys(object), 'title'];
  const mapping = {
    target_url: columns.indexOf(usual),
    ...(map.title && { title: columns.indexOf(map.title) }),
  };
  const meaning = keyMapping({ columns, mapping }, map)({ ...object });
  const fields = Object.entries(meaning.mapping).map(([field, at]) => [field, columns[at]]);
  return { ...Object.fromEntries(fields), problem: meaning.problem };
}

const NONE = { problem: undefined };

test('each object has its own best names', () => {
  expect(meaningOf({ name: 'N', link: 'l' })).toEqual({
    target_url: 'link',
    title: 'name',
    ...NONE,
  });
  expect(meaningOf({ name: 'N', title: 'T', 'Target URL': 'u', url: 'v' })).toEqual({
    target_url: 'Target URL',
    title: 'title',
    ...NONE,
  });
});

test('where no key has a usual name, the one counts that only holds URLs', () => {
  expect(meaningOf({ name: 'N' }, {}, 'page')).toEqual({
    target_url: 'page',
    title: 'name',
    ...NONE,
  });
});

test('--map goes first, also where the object does not have that key', () => {
  expect(meaningOf({ name: 'N' }, { title: 'title' })).toMatchObject({ title: 'title' });
  expect(meaningOf({ name: 'N' }, { title: '' })).toEqual({ target_url: 'url', ...NONE });
});

test('two keys that could both be meant are a problem of that object', () => {
  expect(meaningOf({ URL: 'a', url: 'b' }).problem).toBe(
    '"URL" and "url" could both be target_url',
  );
});

test('a domain beside a short link of another service is not ours, but beside our own result it is', () => {
  const short_url = 'https://s.example/x';
  expect(meaningOf({ domain_id: 'd', redirect_type: 301, short_url })).toEqual({
    target_url: 'url',
    ...NONE,
  });
  const results = [
    { code: null, short_url: null, status: 'unsent', error: 'later' },
    { short_url: null, code: '' },
    { code: 'x', short_url, status: 'created' },
  ];
  for (const result of results) {
    expect(meaningOf({ domain_id: 'd', ...result })).toMatchObject({ domain_id: 'domain_id' });
  }
});

test('more sets of keys than are remembered are read all the same', () => {
  const columns = ['url', ...Array.from({ length: 20_000 }, (_, n) => `key${n}`)];
  const map = keyMapping({ columns, mapping: { target_url: 0 } });
  for (const key of columns) expect(map({ url: 'u', [key]: 1 }).mapping).toEqual({ target_url: 0 });
});
