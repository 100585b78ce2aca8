import fc from 'fast-check';
import { expect, test } from 'vitest';
import { normalizeHost, parseDomainHostname, unwrapIpv4 } from './hostnames.ts';

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

test.each(['a..b', `${'a'.repeat(60)}.`.repeat(5)])('%j is no domain', (host) => {
  expect(parseDomainHostname(host)).toBeUndefined();
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
