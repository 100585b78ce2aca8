import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { connectionError, createRedact, judgeFailure, scrubCause } from './failure.ts';

const redact = createRedact('sk_12345');

describe('scrubCause', () => {
  it('keeps name, message and code of the whole chain', () => {
    const inner = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const copy = scrubCause(new TypeError('fetch failed', { cause: inner }), redact);
    expect(copy).toMatchObject({ name: 'TypeError', message: 'fetch failed' });
    expect(copy?.cause).toMatchObject({ message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' });
    expect(copy).not.toHaveProperty('code');
  });

  it('keeps nothing else', () => {
    const request = new Request('https://a.example', { headers: { 'x-api-key': 'sk_12345' } });
    const error = Object.assign(new Error('with sk_12345'), { request, stack: 'at sk_12345' });
    const shown = inspect(scrubCause(error, redact), {
      depth: Number.POSITIVE_INFINITY,
      showHidden: true,
    });
    expect(shown).toContain('with [API key]');
    expect(shown).not.toContain('sk_12345');
    expect(shown).not.toContain('Request');
  });

  it('takes the first of several failed addresses for the cause', () => {
    const error = new AggregateError([new Error('first'), new Error('second')], 'all');
    expect(scrubCause(error, redact)).toHaveProperty('cause.message', 'first');
  });

  it('has no stack, which would only show where the copy was made', () => {
    expect(scrubCause(new TypeError('fetch failed'), redact)?.stack).toBe(
      'TypeError: fetch failed',
    );
  });

  it('reads what is no error', () => {
    expect(scrubCause('sk_12345 thrown', redact)).toHaveProperty('message', '[API key] thrown');
    expect(scrubCause(undefined, redact)).toBeUndefined();
    expect(scrubCause(null, redact)).toBeUndefined();
  });

  it('leaves out a name, message or code that is no text, such as the number of a DOMException', () => {
    const copy = scrubCause({ name: 7, message: {}, code: 20 }, redact);
    expect(copy).toMatchObject({ name: 'Error', message: '' });
    expect(copy).not.toHaveProperty('code');
  });

  it('ends on a chain of causes that is a loop', () => {
    const error = new Error('a');
    error.cause = error;
    expect(scrubCause(error, redact)).toHaveProperty('cause.cause.cause.cause.message', 'a');
    expect(scrubCause(error, redact)).not.toHaveProperty('cause.cause.cause.cause.cause');
  });
});

const withCode = (code: string, rest: object = {}) =>
  Object.assign(new Error(code), { code, ...rest });
const fetchFailed = (cause: unknown) => new TypeError('fetch failed', { cause });
const denoMessage = (phase: string) =>
  new TypeError(`error sending request for url (https://a.example/): client error (${phase}): tcp`);

describe('a request that was certainly never sent', () => {
  it.each([
    ['Node: refused', fetchFailed(withCode('ECONNREFUSED', { syscall: 'connect' }))],
    ['Node: no such name', fetchFailed(withCode('ENOTFOUND', { syscall: 'getaddrinfo' }))],
    ['Node: DNS not reached', fetchFailed(withCode('EAI_AGAIN', { syscall: 'getaddrinfo' }))],
    ['Node: no memory for the name', fetchFailed(withCode('ENOMEM', { syscall: 'getaddrinfo' }))],
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
    [
      'HTTP/2: not processed',
      fetchFailed(new Error('Stream closed with error code NGHTTP2_REFUSED_STREAM')),
    ],
    ['Node: handshake refused', fetchFailed(withCode('ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE'))],
    [
      'Node: handshake refused, old OpenSSL',
      fetchFailed(withCode('ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE')),
    ],
    ['Node: TLS knows no such name', fetchFailed(withCode('ERR_SSL_TLSV1_UNRECOGNIZED_NAME'))],
    [
      'Node: no protocol in common',
      fetchFailed(withCode('ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL')),
    ],
  ])('%s', (_, error) => {
    expect(judgeFailure(error).isNeverSent).toBe(true);
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
    ['Node: alert later on', fetchFailed(withCode('ERR_SSL_SSL/TLS_ALERT_BAD_RECORD_MAC'))],
    ['HTTP/2: given up', fetchFailed(new Error('Stream closed with error code NGHTTP2_CANCEL'))],
    ['not an error', 'no'],
    ['nothing', undefined],
  ])('%s: may have been sent', (_, error) => {
    expect(judgeFailure(error).isNeverSent).toBe(false);
  });

  it('ends on a chain of causes that is a loop', () => {
    const error = new Error('a');
    error.cause = error;
    expect(judgeFailure(error).isNeverSent).toBe(false);
  });
});

describe('what will fail again until someone changes something', () => {
  it.each([
    ['expired', fetchFailed(withCode('CERT_HAS_EXPIRED')), true],
    ['self-signed', fetchFailed(withCode('DEPTH_ZERO_SELF_SIGNED_CERT')), true],
    ['no TLS', fetchFailed(withCode('ERR_SSL_WRONG_VERSION_NUMBER')), true],
    [
      'Deno: expired',
      new TypeError('client error (Connect): invalid peer certificate: Expired'),
      true,
    ],
    ['a port that fetch blocks', fetchFailed(new Error('bad port')), true],
    ['Deno: no permission', { name: 'NotCapable', message: 'Requires net access' }, true],
    ['an older Deno: no permission', { name: 'PermissionDenied', message: 'net' }, true],
    ['handshake refused', fetchFailed(withCode('ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE')), false],
    ['HTTP/2: not processed', fetchFailed(new Error('NGHTTP2_REFUSED_STREAM')), false],
    ['refused', fetchFailed(withCode('ECONNREFUSED', { syscall: 'connect' })), false],
    ['no such name', fetchFailed(withCode('ENOTFOUND', { syscall: 'getaddrinfo' })), false],
    ['reset', fetchFailed(withCode('ECONNRESET', { syscall: 'read' })), false],
  ])('%s', (_, error, isPermanent) => {
    expect(judgeFailure(error)).toMatchObject({ isPermanent });
  });
});

describe('connectionError', () => {
  const failed = (thrown: unknown, isRefused = false) =>
    connectionError(thrown, { url: 'https://go.example.com/api/v1/links', isRefused, redact });

  it('says of a request that was lost that it may have been carried out', () => {
    const error = failed(fetchFailed(withCode('ECONNRESET')));
    expect(error).toMatchObject({ outcome: 'unknown', code: 'ECONNRESET' });
    expect(error.message).toBe(
      'Connection to https://go.example.com lost: ECONNRESET; the request may have been carried out',
    );
  });

  it('has the code of the innermost cause, as its message has the words', () => {
    const cause = withCode('ECONNREFUSED');
    const error = failed(fetchFailed(withCode('ERR_HTTP2_ERROR', { cause })));
    expect(error).toMatchObject({
      code: 'ECONNREFUSED',
      message: expect.stringMatching(/: ECONNREFUSED$/),
    });
  });

  it('says of a request that was never sent that there was no connection', () => {
    const message = 'No connection to https://go.example.com: ECONNREFUSED';
    expect(failed(withCode('ECONNREFUSED'))).toMatchObject({ outcome: 'not-sent', message });
    expect(failed(withCode('ECONNREFUSED'))).toMatchObject({ isPermanent: false });
  });

  it('says of a request that the runtime refused that it was never sent, and never will be', () => {
    const error = failed(withCode('ECONNRESET'), true);
    expect(error).toMatchObject({ outcome: 'not-sent', isPermanent: true });
  });
});

describe('createRedact', () => {
  it('leaves texts alone where the key is so short that it is a part of words', () => {
    expect(createRedact('k')('blocked')).toBe('blocked');
    expect(createRedact('1234567')('at 1234567')).toBe('at 1234567');
    expect(createRedact('12345678')('at 12345678')).toBe('at [API key]');
  });

  const KEY = 'sk_"/\\=_12345';
  const json = JSON.stringify({ key: KEY });
  const hexOf = (character: string) => character.charCodeAt(0).toString(16).padStart(2, '0');
  const escaped = (before: string) => KEY.replaceAll(/./g, (one) => before + hexOf(one));

  it.each([
    ['as JSON writes it', json.slice(8, -2)],
    ['as JSON may write it', json.slice(8, -2).replace('/', '\\/')],
    ['as JSON in JSON', JSON.stringify(json).slice(12, -4)],
    ['with some characters as \\u escapes', json.slice(8, -2).replace('=', '\\u003d')],
    ['with some characters as \\u escapes in capitals', json.slice(8, -2).replace('=', '\\u003D')],
    ['with only \\u escapes', escaped('\\u00')],
    ['with only \\u escapes in JSON in JSON', escaped('\\\\u00')],
    ['in a URL', encodeURIComponent(KEY)],
    ['in a URL, with small hex digits', encodeURIComponent(KEY).toLowerCase()],
    ['with only percent escapes', escaped('%')],
    ['in HTML', KEY.replaceAll('"', '&quot;')],
    ['in HTML, with numbers', KEY.replace(/./g, (one) => `&#${one.charCodeAt(0)};`)],
    ['in HTML, with hex numbers', KEY.replace(/./g, (one) => `&#x${hexOf(one).toUpperCase()};`)],
    ['in HTML, with longer hex numbers', KEY.replace(/./g, (one) => `&#x00${hexOf(one)};`)],
    [
      'in HTML, with some characters as numbers',
      KEY.replaceAll(/[/="]/g, (one) => `&#0${one.charCodeAt(0)};`),
    ],
  ])('finds the key %s', (_, spelling) => {
    expect(createRedact(KEY)(`a=${spelling}&b`)).toBe('a=[API key]&b');
  });

  it('finds each character that HTML has a name for', () => {
    const key = `k-<&>"'-12345`;
    const html = 'k-&lt;&amp;&gt;&quot;&apos;-12345';
    expect(createRedact(key)(`<p>${html}</p><p>${html.replace('&apos;', '&#39;')}`)).toBe(
      '<p>[API key]</p><p>[API key]',
    );
  });

  it('leaves JSON that can be read, whatever is before the key', () => {
    for (const before of ['', '\\', '\\\\', '\\\\\\', '"', '\n', '\\u0073']) {
      const text = createRedact('sk_12345')(JSON.stringify({ text: `${before}sk_12345"` }));
      expect(JSON.parse(text)).toEqual({ text: expect.stringMatching(/\[API key\]"$/) });
    }
  });

  it('takes time in proportion to the text', () => {
    // Each of them would take hours if the time grew with the square of the length.
    for (const part of [
      '\\',
      's\\',
      'sk_1234\\',
      'sk_1234',
      '\\u0073',
      '%73',
      '&#0',
      '&#115;',
      '&#x',
    ]) {
      const text = part.repeat(3_000_000 / part.length);
      expect(createRedact('sk_12345')(text)).toBe(text);
    }
  });
});
