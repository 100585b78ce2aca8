import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { leastTime } from '../../test/least-time.ts';
import {
  normalizeHost,
  ownHostMatcher,
  ownHostsOf,
  parseDomainHostname,
  sharedHostWarning,
  unwrapIpv4,
} from './hostnames.ts';

test.each([
  ['go.example', 'go.example'],
  ['GO.Example.', 'go.example'],
  ['go.example:80', 'go.example'],
  ['go.example:443', 'go.example'],
  ['go.example:8443', 'go.example:8443'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['127.1', '127.0.0.1'],
  ['[::1]:8787', '[::1]:8787'],
  ['[::ffff:127.0.0.1]:8787', '127.0.0.1:8787'],
])('%s is %s', (host, normal) => {
  expect(normalizeHost(host)).toBe(normal);
  expect(parseDomainHostname(host)).toBe(normal);
});

test.each([
  '',
  '.',
  'https://go.example',
  'go.example/',
  'go.example/path',
  'go.example?x',
  'user@go.example',
  'go example',
  'go.example:99999',
  'go.example:x',
  'a\\b',
  'a<b',
])('%j is no host', (host) => {
  expect(normalizeHost(host)).toBeUndefined();
  expect(parseDomainHostname(host)).toBeUndefined();
});

test.each([
  'a..b',
  `${'a'.repeat(60)}.`.repeat(5),
  `${'a'.repeat(64)}.example`,
  `${'ü'.repeat(60)}.example`,
  '.x.com',
  '*.x.com',
  'a,b',
  'host;x',
  'go_example$.com',
  "o'brien.example",
  'a:0',
  '[::1]:0',
])('%j is no domain', (host) => {
  expect(parseDomainHostname(host)).toBeUndefined();
});

test.each([
  'localhost',
  'go_to.my-domain.example',
  '_x.xn--bcher-kva.example',
  `${'a'.repeat(63)}.example`,
  '127.0.0.1:1',
  '[2001:db8::1]',
  'go.example:65535',
])('%j is a domain', (host) => {
  expect(parseDomainHostname(host)).toBe(host);
});

const LONGEST = ['a', 'b', 'c', 'd', 'e']
  .map((letter) => letter.repeat(49))
  .concat('abc')
  .join('.');

test('a domain has at most 253 characters, its port not counted', () => {
  expect(LONGEST).toHaveLength(253);
  expect(parseDomainHostname(LONGEST)).toBe(LONGEST);
  expect(parseDomainHostname(`${LONGEST}:8443`)).toBe(`${LONGEST}:8443`);
  expect(parseDomainHostname(`${LONGEST}d`)).toBeUndefined();
});

describe('the own hosts', () => {
  const own = ownHostsOf('https://Go.Example:8443/base', [
    { hostname: 'links.example' },
    { hostname: 'go.example:8443' },
  ]);
  const isOwn = (url: string) => own.isOwnHost(new URL(url));

  test('are that of the public URL and the custom domains', () => {
    expect(isOwn('https://go.example:8443/x')).toBe(true);
    expect(isOwn('https://links.example/x')).toBe(true);
    expect(isOwn('https://go.example/x')).toBe(false);
    expect(isOwn('https://other.example/x')).toBe(false);
  });

  test('have the public one among the custom domains only by mistake', () => {
    expect(own.isCustomDomain('links.example')).toBe(true);
    expect(own.isCustomDomain('go.example:8443')).toBe(false);
    expect(own.isCustomDomain('other.example')).toBe(false);
  });

  test('with a port are own on that port only, without one on all of them', () => {
    const isOwnHost = ownHostMatcher(['a.example', 'b.example:8080']);
    const owns = (url: string) => isOwnHost(new URL(url));
    expect(['http://a.example/', 'http://a.example:1/', 'http://b.example:8080/'].every(owns)).toBe(
      true,
    );
    expect(['http://b.example/', 'http://b.example:1/'].some(owns)).toBe(false);
  });
});

const unwrap = (host: string) => unwrapIpv4(new URL(`http://${host}/`).hostname);

test.each([
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:FFFF:7F00:0001]',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:0:0:0:0:7f00:1]',
])('%s is 127.0.0.1', (host) => {
  expect(unwrap(host)).toBe('127.0.0.1');
});

test.each(['[::1]', '[::]', '[2001:db8::7f00:1]', '[64:ff9b:1::7f00:1]', '[fe80::ffff:7f00:1]'])(
  '%s is no IPv4 address',
  (host) => {
    expect(unwrap(host)).toBe(host);
  },
);

test('an IPv6 address may end with a zero group', () => {
  expect(unwrap('[::ffff:7f00:0]')).toBe('127.0.0.0');
  expect(unwrap('[64:ff9b:0:0:0:0:7f00:0]')).toBe('127.0.0.0');
  expect(unwrap('[1:2:3:4:5:6:7::]')).toBe('[1:2:3:4:5:6:7:0]');
});

test('names and IPv4 addresses stay what they are', () => {
  expect(unwrap('example.com')).toBe('example.com');
  expect(unwrap('10.1')).toBe('10.0.0.1');
});

test('whatever IPv6 address a URL parser accepts, its IPv4 address is found in each form', () => {
  fc.assert(
    fc.property(fc.ipV4(), fc.constantFrom('::ffff:', '::ffff:0:', '64:ff9b::'), (ip, prefix) => {
      fc.pre(!ip.startsWith('0.0.'));
      expect(unwrap(`[${prefix}${ip}]`)).toBe(ip);
    }),
  );
  fc.assert(
    fc.property(fc.ipV6(), (ip) => {
      expect(unwrap(`[${ip}]`)).toMatch(/^(?:\[[\da-f:]+\]|\d+\.\d+\.\d+\.\d+)$/);
    }),
  );
});

test('where the public host is a custom domain too, the warning names it, and not the domain before it', () => {
  const domains = ['a.example', 'go.example'].map((hostname) => ({
    hostname,
    account_id: hostname,
  }));
  expect(sharedHostWarning('https://go.example', domains)).toMatch(
    /^go\.example, .* of account go\.example:/,
  );
  expect(sharedHostWarning('https://b.example', domains)).toBeUndefined();
});

test('a host of many dots costs little more than one of as many letters', () => {
  const host = (text: string) => `h${text.repeat(15_500)}b.`;
  const plain = leastTime(() => normalizeHost(host('a')), 10);
  expect(leastTime(() => normalizeHost(host('.')), 10)).toBeLessThan(50 * plain + 1);
});
