import { describe, expect, test } from 'vitest';
import { EVERY_TARGET_HOST, parseHostList, targetHostMatcher } from './target-hosts.ts';

const allows = (lists: { allow?: string; deny?: string }, target: string) =>
  targetHostMatcher({
    allow: parseHostList(lists.allow ?? '') ?? [],
    deny: parseHostList(lists.deny ?? '') ?? [],
  })(new URL(target));

describe('a denied host is refused in every spelling, and its subdomains with it', () => {
  test.each([
    'https://evil.example/',
    'https://EVIL.example:8443/x',
    'https://evil.example./',
    'https://a.b.evil.example/',
    'https://evil%2eexample/',
    'https://ｅvil.example/',
    'https://user@evil.example/',
    'https://bücher.example/',
    'http://2130706433/',
    'http://127.1/',
    'http://[::1]:80/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]:8080/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
  ])('%s', (target) => {
    const deny = 'Evil.Example, bücher.example 127.0.0.1,[::1]';
    expect(allows({ deny }, target)).toBe(false);
  });
});

test('a host that is denied as IPv6 is denied as IPv4', () => {
  expect(allows({ deny: '[::ffff:10.0.0.1]' }, 'http://10.0.0.1/')).toBe(false);
});

test.each([
  'https://notevil.example/',
  'https://evil.example.com/',
  'https://example/',
  'https://example.com/evil.example',
])('%s is another host than the denied one', (target) => {
  expect(allows({ deny: 'evil.example' }, target)).toBe(true);
});

test('with an allow list only its hosts pass, and a denied one of them does not', () => {
  const lists = { allow: 'example.com example.org', deny: 'old.example.com' };
  expect(allows(lists, 'https://example.com/')).toBe(true);
  expect(allows(lists, 'https://docs.example.org/')).toBe(true);
  expect(allows(lists, 'https://old.example.com/')).toBe(false);
  expect(allows(lists, 'https://example.net/')).toBe(false);
  expect(allows(lists, 'https://com/')).toBe(false);
});

test('without lists every host passes', () => {
  expect(targetHostMatcher(EVERY_TARGET_HOST)(new URL('https://any.example/'))).toBe(true);
});

test.each([
  'https://a.example',
  'a.example:8080',
  '*.a.example',
  'a.example/x',
  'good.example,b a@c',
])('%j is no list of hosts', (text) => {
  expect(parseHostList(text)).toBeUndefined();
});

test('a list may be empty, and have line breaks', () => {
  expect(parseHostList(' ')).toEqual([]);
  expect(parseHostList('a.example,\n  B.example')).toEqual(['a.example', 'b.example']);
});
