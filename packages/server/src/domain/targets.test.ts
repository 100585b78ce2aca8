import { describe, expect, test, vi } from 'vitest';
import { leastTime } from '../../test/least-time.ts';
import { ownHostMatcher } from './hostnames.ts';
import {
  checkTarget,
  EVERY_TARGET_HOST,
  locationOf,
  parseHostList,
  targetHostMatcher,
  withQuery,
} from './targets.ts';

const isOwnHost = ownHostMatcher([
  'sho.rt',
  'localhost:8787',
  'xn--bcher-kva.example',
  '127.0.0.1:9',
]);
const check = (target: string) => checkTarget(target, { isOwnHost, isAllowedHost: () => true });

test.each([
  'https://example.com',
  'http://example.com/',
  'HTTPS://EXAMPLE.COM/Path?q=1&q=2#frag',
  'https://example.com:8443/a%20b?x=%00',
  'https://example.com/a b',
  'https://example.com/a\\b',
  'https://example.com/?next=https://user:pass@evil.example',
  'https://example.com/#@x',
  'https://bücher.de/ü?ä=ö',
  'https://例え.jp/',
  'http://127.0.0.1:3000/',
  'http://[::1]:3000/',
  'http://0x7f.1/',
  'http://localhost:3000/',
  'http://localhost/',
  'https://my.sho.rt/',
  'https://sho.rt.example/',
  'https://xsho.rt/',
  'https://spl.gsfc.nasa.gov@gpl.gsfc.nasa.gov',
])('%s is fine', (target) => {
  expect(check(target)).toBeUndefined();
});

describe.each([
  [
    'is no absolute http or https URL',
    /absolute http or https URL/,
    [
      '',
      'example.com',
      '//example.com/',
      '/docs',
      'http:example.com',
      'http:/example.com',
      'http://',
      'http:///example.com',
      'https://?x',
      'https://#x',
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)//http://x',
      'data:text/html,x',
      'file:///etc/passwd',
      'ftp://example.com/',
      'mailto:a@example.com',
      'blob:https://example.com/x',
      'view-source:https://example.com',
      'https:\\\\example.com',
      'https://example.com\\@evil.example',
      'https://example.com\\.evil.example/',
      'https://exa mple.com/',
      'https://exa<mple.com/',
      'https://example.com:99999/',
      'https://example.com:x/',
      'https://[::1/',
      'https://256.256.256.256/',
      'https://%00/',
    ],
  ],
  [
    'carries a password',
    /must not contain a password/,
    [
      'https://user:pass@example.com/',
      'https://:pass@example.com/',
      'https://@example.com/',
      'https://example.com:443@evil.example/',
      'https://a@b@example.com/',
    ],
  ],
  [
    'has control characters',
    /control characters/,
    [
      'https://example.com/\r\nSet-Cookie: a=b',
      'https://example.com/\t',
      'ht\ntps://example.com/',
      'java\nscript:alert(1)',
      'https://example.com/\0',
      'https://example.com/\u007f',
      'https://example.com/\u0085',
      '\u0001https://example.com/',
    ],
  ],
  [
    'has whitespace around it',
    /whitespace/,
    [
      ' https://example.com/',
      'https://example.com/ ',
      'https://example.com/\u00a0',
      '\ufeffhttps://example.com/',
    ],
  ],
  [
    'points at an own host, in whatever spelling',
    /own domains/,
    [
      'https://sho.rt',
      'http://sho.rt/abc',
      'https://SHO.RT/abc',
      'https://sho.rt:443/',
      'https://sho.rt:8080/',
      'https://sho.rt./',
      'https://sho.rt.../',
      'https://ｓｈｏ.ｒｔ/',
      'https://sho%2ert/',
      'https://sho。rt/',
      'http://localhost:8787/x',
      'https://LOCALHOST.:8787/x',
      'https://bücher.example/',
      'https://BÜCHER.example./',
      'https://xn--bcher-kva.example/',
      'http://127.1:9/',
      'http://0x7f.0.0.1:9/',
      'http://2130706433:9/',
      'http://[::ffff:127.0.0.1]:9/',
      'http://[64:ff9b::7f00:1]:9/',
    ],
  ],
])('a target that %s is refused', (_name, message, targets) => {
  test.each(targets)('%j', (target) => {
    expect(check(target)).toMatch(message);
  });
});

test('a Location has at most 8,192 bytes, however many characters were sent', () => {
  const target = `https://example.com/${'ü'.repeat((8_192 - 20) / 6)}`;
  expect(locationOf(target)).toHaveLength(8_192);
  expect(check(target)).toBeUndefined();
  expect(check(`${target}a`)).toMatch(/8192 bytes/);
  expect(check(`https://example.com/${'€'.repeat(2_000)}`)).toMatch(/8192 bytes/);
});

test('what a header can carry is the location as it is, the rest as a URL parser writes it', () => {
  expect(locationOf('https://example.com')).toBe('https://example.com');
  expect(locationOf('https://example.com/a\'b"c<d>|^`{}')).toBe(
    'https://example.com/a\'b"c<d>|^`{}',
  );
  expect(locationOf('https://example.com/ü x')).toBe('https://example.com/%C3%BC%20x');
});

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

test('a target on a host that the operator does not allow is refused', () => {
  const rules = { isOwnHost, isAllowedHost: targetHostMatcher({ allow: [], deny: ['a.example'] }) };
  expect(checkTarget('https://a.example/', rules)).toMatch(/does not allow/);
  expect(checkTarget('https://b.example/', rules)).toBeUndefined();
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

test.each([EVERY_TARGET_HOST, { allow: ['allowed.example'], deny: ['denied.example'] }])(
  'a host of a thousand labels is looked up as few times as a name can have labels: %j',
  (lists) => {
    const looks = vi.spyOn(Set.prototype, 'has');
    try {
      const isAllowed = targetHostMatcher(lists);
      const many = 'a.'.repeat(1_000);
      expect(isAllowed(new URL(`http://${many}b`))).toBe(lists.allow.length === 0);
      expect(isAllowed(new URL(`http://${many}allowed.example`))).toBe(true);
      expect(isAllowed(new URL(`http://${many}denied.example`))).toBe(lists.deny.length === 0);
      expect(looks.mock.calls.length).toBeLessThan(6 * 130);
    } finally {
      looks.mockRestore();
    }
  },
);

test.each([
  ['http://ex ample/ü', 'http://ex%20ample/%C3%BC'],
  ['', ''],
])('the Location of %j, which a URL parser refuses, is percent-encoded', (target, location) => {
  expect(locationOf(target)).toBe(location);
});

test('a parameter of a query is known by its whole name', () => {
  expect(withQuery('https://e.com/?a=1', '?a=2&a=3&%61=4')).toBe('https://e.com/?a=1&?a=2');
});

test('a query is added up to the longest Location, and left out beyond it', () => {
  const target = `https://e.com/${'x'.repeat(8_192 - 14 - 4)}`;
  expect(withQuery(target, 'a=1')).toBe(`${target}?a=1`);
  expect(withQuery(target, 'a=12')).toBe(target);
});

test('a query of thousands of parameters costs little more to add to a thousand others than to read', () => {
  const target = `https://e.com/?${'b&'.repeat(1_000)}`;
  const query = 'a&'.repeat(4_000);
  const plain = leastTime(() => [...new URLSearchParams(query)]);
  expect(leastTime(() => withQuery(target, query))).toBeLessThan(10 * plain + 0.1);
});
