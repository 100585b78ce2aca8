import { describe, expect, it } from 'vitest';
import { isNeverSent } from './not-sent.ts';

const withCode = (code: string, rest: object = {}) =>
  Object.assign(new Error(code), { code, ...rest });
const fetchFailed = (cause: unknown) => new TypeError('fetch failed', { cause });
const denoMessage = (phase: string) =>
  new TypeError(`error sending request for url (https://a.example/): client error (${phase}): tcp`);

describe('isNeverSent', () => {
  it.each([
    ['Node: refused', fetchFailed(withCode('ECONNREFUSED', { syscall: 'connect' }))],
    ['Node: no such name', fetchFailed(withCode('ENOTFOUND', { syscall: 'getaddrinfo' }))],
    ['Node: DNS not reached', fetchFailed(withCode('EAI_AGAIN', { syscall: 'getaddrinfo' }))],
    ['Node: no route', fetchFailed(withCode('EHOSTUNREACH', { syscall: 'connect' }))],
    [
      'Node: connect timed out in the kernel',
      fetchFailed(withCode('ETIMEDOUT', { syscall: 'connect' })),
    ],
    ['Node: connect timed out in undici', fetchFailed(withCode('UND_ERR_CONNECT_TIMEOUT'))],
    ['Node: self-signed', fetchFailed(withCode('DEPTH_ZERO_SELF_SIGNED_CERT'))],
    ['Node: expired', fetchFailed(withCode('CERT_HAS_EXPIRED'))],
    ['Node: wrong name', fetchFailed(withCode('ERR_TLS_CERT_ALTNAME_INVALID'))],
    ['Node: no TLS', fetchFailed(withCode('ERR_SSL_WRONG_VERSION_NUMBER'))],
    [
      'Node: every address refused',
      fetchFailed(new AggregateError([withCode('ECONNREFUSED', { syscall: 'connect' })])),
    ],
    ['Node: a port that fetch blocks', fetchFailed(new Error('bad port'))],
    ['Bun: refused', withCode('ConnectionRefused')],
    ['Bun: no socket', withCode('FailedToOpenSocket')],
    [
      'Bun: no TLS',
      Object.assign(new Error('EPROTO: The TLS handshake failed. Does the server speak TLS?'), {
        code: 'EPROTO',
      }),
    ],
    [
      'Deno: a port that fetch blocks',
      new TypeError('Fetch failed: Requests to port 1 are blocked'),
    ],
    ['Deno: connect phase', denoMessage('Connect')],
  ])('%s', (_, error) => {
    expect(isNeverSent(error)).toBe(true);
  });

  it.each([
    ['Node: reset', fetchFailed(withCode('ECONNRESET', { syscall: 'read' }))],
    ['Node: closed', fetchFailed(withCode('UND_ERR_SOCKET'))],
    ['Node: headers timed out', fetchFailed(withCode('UND_ERR_HEADERS_TIMEOUT'))],
    ['Node: unreachable while reading', fetchFailed(withCode('EHOSTUNREACH', { syscall: 'read' }))],
    ['Node: timed out while reading', fetchFailed(withCode('ETIMEDOUT', { syscall: 'read' }))],
    ['Node: broken pipe', fetchFailed(withCode('EPIPE', { syscall: 'write' }))],
    ['Bun: closed', withCode('ConnectionClosed')],
    ['Deno: sending', denoMessage('SendRequest')],
    ['Chrome', new TypeError('Failed to fetch')],
    ['Firefox', new TypeError('NetworkError when attempting to fetch resource.')],
    ['Safari', new TypeError('Load failed')],
    ['not an error', 'no'],
    ['nothing', undefined],
  ])('%s: may have been sent', (_, error) => {
    expect(isNeverSent(error)).toBe(false);
  });

  it('ends on a chain of causes that bites its tail', () => {
    const error = new Error('a');
    error.cause = error;
    expect(isNeverSent(error)).toBe(false);
  });
});
