import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { checkRequest } from './outside-app.ts';

/** Whether a request reaches the app, and if not, the response. */
function check(host: string, url = '/'): { isFine: boolean; response: string } {
  const incoming = { rawHeaders: ['Host', host], headers: { host }, httpVersion: '1.1', url };
  let response = '';
  const outgoing = {
    writeHead: (status: number) => {
      response += status;
      return outgoing;
    },
    end: (body: string) => {
      response += ` ${body}`;
    },
  };
  const isFine = checkRequest(
    incoming as unknown as IncomingMessage,
    outgoing as unknown as ServerResponse,
  );
  return { isFine, response };
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
    expect(check(host, url)).toEqual({ isFine: true, response: '' });
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
])('a host of more than 300 bytes is 400 (%#)', (host, url) => {
  const { isFine, response } = check(host, url);
  expect(isFine).toBe(false);
  expect(response).toMatch(/^400 .*more than 300 bytes/);
});
