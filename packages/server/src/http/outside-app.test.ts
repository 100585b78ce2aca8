import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { hostProblem } from './outside-app.ts';

/** Why a request does not reach the app. */
function check(host: string, url = '/'): string | undefined {
  const incoming = { rawHeaders: ['Host', host], headers: { host }, httpVersion: '1.1', url };
  return hostProblem(incoming as unknown as IncomingMessage);
}

test.each([
  ['h'.repeat(300), '/'],
  ['go.example', `/${'p'.repeat(9_000)}`],
  ['go.example', `http://go.example/${'p'.repeat(9_000)}`],
  ['go.example', `http://go.example?${'q'.repeat(9_000)}`],
  ['go.example', `http://${'h'.repeat(300)}`],
  ['go.example', '*'],
])(
  'a host of 300 bytes or fewer reaches the app, whatever the length of the path (%#)',
  (host, url) => {
    expect(check(host, url)).toBeUndefined();
  },
);

const LONG = '%E4%B8%80'.repeat(1_600);

test.each([
  ['h'.repeat(301), '/'],
  [LONG, '/'],
  ['go.example', `http://${LONG}/`],
  ['go.example', `https://${LONG}`],
  ['go.example', `http:////${LONG}?x`],
  ['go.example', `http://${'u'.repeat(300)}@h/`],
])('a host of more than 300 bytes does not reach it (%#)', (host, url) => {
  expect(check(host, url)).toMatch(/more than 300 bytes/);
});
