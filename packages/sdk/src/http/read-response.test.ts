import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JOB, LINK } from '../../test/answers.ts';
import { readBatch, readJob } from '../wire/batch.ts';
import { readLink } from '../wire/link.ts';
import { createRedact } from './failure.ts';
import { readData, readError } from './read-response.ts';

const KEY = 'sk_12345';
const ENCODED = KEY.replaceAll(/./g, (character) => `%${character.charCodeAt(0).toString(16)}`);
const redact = createRedact(KEY);

/** Where the request went, the API key in its path. */
const WHERE = `GET /api/v1/jobs/${KEY} at https://go.example.com`;

const response = (text: string, status = 200, headers: Record<string, string> = {}) => ({
  status,
  headers: new Headers(headers),
  requestId: headers['x-request-id'],
  text,
  isTooLarge: false,
});
const error = (body: unknown, status = 400, headers: Record<string, string> = {}) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const { 'retry-after': seconds } = headers;
  const retryAfterMs = seconds === undefined ? undefined : Number(seconds) * 1000;
  return readError(response(text, status, headers), redact, retryAfterMs, WHERE);
};
const link = (text: string, status = 201) => readData(response(text, status), readLink, redact);

describe('readData', () => {
  it.each([
    [100, 0],
    [3_000, 3_000 - 256 * 8],
    [100_000, 65_536],
  ])(
    'keeps of %i characters that were cut off %i, so that no part of the key is among them',
    (length, kept) => {
      const cut = { ...response('x'.repeat(length)), isTooLarge: true };
      expect(() => readData(cut, readLink, redact)).toThrow(
        expect.objectContaining({
          message: expect.stringContaining('is larger than maxResponseBytes'),
          body: 'x'.repeat(kept),
        }),
      );
    },
  );

  it.each([
    ['where the excerpt ends', `${'x'.repeat(65_530)}${KEY}${'x'.repeat(3_000)}`],
    ['at the end, behind many encoded ones', `${ENCODED.repeat(500)}${KEY.slice(0, -1)}`],
  ])('keeps no part of a key that stands %s', (_, text) => {
    const cut = { ...response(text), isTooLarge: true };
    expect(() => readData(cut, readLink, redact)).toThrow(
      expect.objectContaining({ body: expect.not.stringContaining('sk_') }),
    );
  });

  it('says of a response without fields that it is no object', () => {
    const notAnObject = "The service's 201 response is not an object";
    expect(() => link('[]')).toThrow(notAnObject);
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const read = () => readData(response(JSON.stringify(value), 201), readJob, redact);
        if (typeof value === 'object' && value !== null && !Array.isArray(value)) read();
        else expect(read).toThrow(notAnObject);
      }),
    );
  });

  it('keeps the whole text of a response that is not cut off', () => {
    const text = JSON.stringify({ title: 'x'.repeat(70_000) });
    expect(() => link(text)).toThrow(expect.objectContaining({ body: text }));
  });

  it('lets unknown fields pass', () => {
    const newer = { ...LINK, qr_code: 'https://go.example.com/qr' };
    expect(link(JSON.stringify(newer))).toEqual(newer);
  });

  it.each(['code', 'short_url'] as const)('names a missing %s, and keeps the text', (field) => {
    for (const value of [undefined, null, '', {}]) {
      const text = JSON.stringify({ ...LINK, [field]: value, echo: KEY });
      expect(() => link(text)).toThrow(
        expect.objectContaining({
          name: 'ResponseShapeError',
          message: `The service's 201 response has no ${field}`,
          path: field,
          status: 201,
          body: text.replace(KEY, '[API key]'),
        }),
      );
    }
  });

  it('names what is missing of a batch', () => {
    const read = (text: string) => readData(response(text, 202), readBatch, redact);
    expect(() => read('{"status":"queued"}')).toThrow('has no results and no job_id');
    expect(() => read('[]')).toThrow(expect.objectContaining({ path: '' }));
  });

  it.each(['[]', 'null', '7', '"text"'])('refuses %s as a whole', (text) => {
    expect(() => link(text)).toThrow(
      expect.objectContaining({ name: 'ResponseShapeError', path: '', body: text }),
    );
  });

  it('does not quote a body that is not JSON in its message, and keeps the request id', () => {
    const page = response('secret page', 200, { 'x-request-id': 'r1' });
    const read = () => readData(page, readLink, redact);
    expect(read).toThrow(expect.objectContaining({ requestId: 'r1', body: 'secret page' }));
    expect(read).toThrow("The service's 200 response is not JSON");
  });

  it.each(['"__proto__"', '"\\u005f_proto__"', '"__pro\\u0074o__"'])(
    'drops the key %s wherever it is',
    (key) => {
      const evil = `${key}:{"is_active":false,"upgrade":true}`;
      const created = link(`{"code":"c","short_url":"s","extra":{${evil}},${evil}}`);
      expect(Object.keys({ ...created })).not.toContain('__proto__');
      expect(Object.getPrototypeOf(Object.assign({}, created))).toBe(Object.prototype);
      expect(created).toHaveProperty('extra', {});

      const job = readData(response(`{"results":[{"target_url":"a",${evil}}]}`), readJob, redact);
      expect(job.results).toEqual([{ target_url: 'a' }]);
      expect(Object.getPrototypeOf(Object.assign({}, job.results[0]))).toBe(Object.prototype);

      const refusal = error(`{"error":"no",${evil}}`, 403);
      expect(refusal.name).toBe('PermissionError');
      expect(refusal).toHaveProperty('body', { error: 'no' });
    },
  );

  it('keeps texts that only look like that key', () => {
    expect(link(JSON.stringify({ ...LINK, title: '__proto__ \u0075' }))).toMatchObject({
      title: '__proto__ \u0075',
    });
  });

  it('keeps every digit of ids that are larger than a number holds', () => {
    const ids = '{"id":9007199254740993,"code":"c","short_url":"s","title":":12345678901234567"}';
    expect(link(ids)).toMatchObject({ id: '9007199254740993', title: ':12345678901234567' });
    const accepted = response('{"job_id": 1234567890123456789, "total":2}', 202);
    expect(readData(accepted, readBatch, redact)).toMatchObject({
      job_id: '1234567890123456789',
      total: 2,
    });
    const large = '{"code":"c","short_url":"s","click_count":12345678901234567890.5}';
    expect(link(large)).toMatchObject({ click_count: 12345678901234567000 });
  });

  it('reads a job as it is', () => {
    expect(readData(response(JSON.stringify(JOB)), readJob, redact)).toEqual(JOB);
  });
});

describe('readError', () => {
  it("takes the service's own words, body, headers and request id", () => {
    const details = [{ index: 3, field: 'target_url', message: 'must be absolute' }];
    const body = { error: 'entry 3 is invalid', code: 'invalid_request', details, extra: 1 };
    expect(error(body, 400, { 'X-Request-Id': 'r7' })).toMatchObject({
      name: 'BadRequestError',
      message: 'entry 3 is invalid',
      status: 400,
      body,
      requestId: 'r7',
    });
  });

  it('reads what is documented though an addition is odd', () => {
    expect(error({ error: 'limit', upgrade: true, details: 'none' }, 403)).toMatchObject({
      name: 'PlanLimitError',
      message: 'limit',
      body: { error: 'limit', upgrade: true },
    });
  });

  it.each([
    [
      'a page',
      '<html>\n  <h1>Bad\u0007 Gateway</h1>',
      'The service responded with 502: <html> <h1>Bad Gateway</h1>',
    ],
    ['nothing', '', 'The service responded with 502'],
    ['blank lines', '\n \n', 'The service responded with 502'],
    [
      'JSON of another kind',
      { message: 'down' },
      'The service responded with 502: {"message":"down"}',
    ],
    ['no words', { error: '' }, 'The service responded with 502: {"error":""}'],
  ])('makes words of its own for %s', (_, body, message) => {
    expect(error(body, 502)).toMatchObject({ name: 'ServerError', message });
  });

  it('quotes at most 120 characters', () => {
    expect(error('x'.repeat(1000), 502).message).toHaveLength(
      'The service responded with 502: '.length + 120,
    );
  });

  it('says why a redirect is not followed', () => {
    const { message } = error('', 301, { location: 'https://www.example.com/' });
    expect(message).toContain('redirects to https://www.example.com/');
    expect(message).toContain('baseUrl');
    expect(error('', 0).message).toContain('redirects. Redirects are not followed');
  });

  it.each([
    [199, false],
    [300, true],
    [399, true],
    [400, false],
  ])('calls %i a redirect: %s', (status, isRedirect) => {
    expect(error('', status).message.includes('redirects')).toBe(isRedirect);
  });

  it('removes the API key from body and message', () => {
    const inBody = error({
      error: `key ${KEY} is unknown`,
      details: [{ field: KEY, message: KEY }],
    });
    expect(inBody.message).toBe('key [API key] is unknown');
    expect(JSON.stringify(inBody)).not.toContain(KEY);
    const message = 'The service responded with 502: [API key]';
    expect(error(KEY, 502)).toHaveProperty('message', message);
  });

  it.each([403, 404, 405])(
    'of a %i names method, path and address, since they may be wrong',
    (status) => {
      const where = '(GET /api/v1/jobs/[API key] at https://go.example.com)';
      expect(error({ error: 'no' }, status).message).toBe(`no ${where}`);
      expect(error('<h1>no</h1>', status).message).toBe(
        `The service responded with ${status}: <h1>no</h1> ${where}`,
      );
    },
  );

  it('of a plan limit or another status names no address', () => {
    expect(error({ error: 'full', upgrade: true }, 403).message).toBe('full');
    for (const status of [400, 401, 409, 500]) {
      expect(error({ error: 'no' }, status).message).toBe('no');
    }
  });
});
