import { expect, test } from 'vitest';
import { normalizeHost, parseDomainHostname } from './hostnames.ts';

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
