import { describe, expect, it } from 'vitest';
import { JOB, LINK } from '../../test/answers.ts';
import { type BatchAnswer, batchAnswerSchema } from '../wire/batch.ts';
import { jobSchema } from '../wire/job.ts';
import { linkSchema } from '../wire/link.ts';
import { readData, readError } from './read-answer.ts';
import { createRedact } from './redact.ts';

const answer = (text: string, status = 200, headers: Record<string, string> = {}) => ({
  status,
  headers: new Headers(headers),
  requestId: headers['x-request-id'],
  text,
});
const error = (body: unknown, status = 400, headers: Record<string, string> = {}) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return readError(answer(text, status, headers), createRedact('sk_1'), 0);
};

describe('readData', () => {
  it('passes unknown fields through', () => {
    const newer = { ...LINK, qr_code: 'https://go.example.com/qr' };
    expect(readData(answer(JSON.stringify(newer)), linkSchema)).toEqual(newer);
  });

  it('names a missing field', () => {
    const { code: _, ...link } = LINK;
    expect(() => readData(answer(JSON.stringify(link), 201), linkSchema)).toThrow(
      expect.objectContaining({ name: 'ResponseShapeError', path: 'code', status: 201 }),
    );
  });

  it('names a field deep inside', () => {
    const job = { ...JOB, results: [JOB.results[0], { target_url: 7 }] };
    expect(() => readData(answer(JSON.stringify(job)), jobSchema)).toThrow(
      expect.objectContaining({
        path: 'results[1].target_url',
        message: "The service's 200 answer has no valid results[1].target_url",
      }),
    );
  });

  it('names the field that tells two answers apart', () => {
    const read = (body: string) => readData<BatchAnswer>(answer(body, 202), batchAnswerSchema);
    expect(() => read('{"status":"queued"}')).toThrow(expect.objectContaining({ path: 'status' }));
    expect(() => read('{"status":"processing","total":1}')).toThrow(
      expect.objectContaining({ path: 'job_id' }),
    );
    expect(() => read('{"status":"completed","total":1}')).toThrow(
      expect.objectContaining({ path: 'results' }),
    );
    expect(() => read('[]')).toThrow(expect.objectContaining({ path: '' }));
    expect(read('{"status":"processing","total":1,"job_id":"j","more":1}')).toEqual({
      status: 'processing',
      total: 1,
      job_id: 'j',
      more: 1,
    });
  });

  it.each(['[]', 'null', '7', '"text"'])('refuses %s as a whole', (text) => {
    expect(() => readData(answer(text), linkSchema)).toThrow(
      expect.objectContaining({ name: 'ResponseShapeError', path: '' }),
    );
  });

  it('does not quote a body that is not JSON, and keeps the request id', () => {
    const read = () => readData(answer('secret page', 200, { 'x-request-id': 'r1' }), linkSchema);
    expect(read).toThrow(expect.objectContaining({ requestId: 'r1' }));
    expect(read).toThrow("The service's 200 answer is not JSON");
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

  it('reads what the spec promises though an addition is broken', () => {
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
      'The service answered 502: <html> <h1>Bad Gateway</h1>',
    ],
    ['nothing', '', 'The service answered 502'],
    ['JSON of another kind', { message: 'down' }, 'The service answered 502: {"message":"down"}'],
    ['no words', { error: '' }, 'The service answered 502: {"error":""}'],
  ])('makes words of its own for %s', (_, body, message) => {
    expect(error(body, 502)).toMatchObject({ name: 'ServerError', message });
  });

  it('quotes at most 120 characters', () => {
    expect(error('x'.repeat(1000), 502).message).toHaveLength(
      'The service answered 502: '.length + 120,
    );
  });

  it('says why a redirect is not followed', () => {
    const { message } = error('', 301, { location: 'https://www.example.com/' });
    expect(message).toContain('redirects to https://www.example.com/');
    expect(message).toContain('baseUrl');
    expect(error('', 0).message).toContain('redirects, which');
  });

  it('removes the API key from body, message and headers', () => {
    const inBody = error({
      error: 'key "sk_1" is unknown',
      details: [{ field: 'sk_1', message: 'sk_1' }],
    });
    expect(inBody.message).toBe('key "[API key]" is unknown');
    expect(JSON.stringify(inBody)).not.toContain('sk_1');
    const inHeader = error('sk_1', 502, { 'X-Echo': 'sk_1' });
    expect(inHeader).toHaveProperty('message', 'The service answered 502: [API key]');
    expect(JSON.stringify([...Reflect.get(inHeader, 'headers')])).not.toContain('sk_1');
  });
});
