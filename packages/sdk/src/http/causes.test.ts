import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { scrubCause } from './causes.ts';
import { createRedact } from './redact.ts';

const redact = createRedact('sk_1');

describe('scrubCause', () => {
  it('keeps name, message and code of the whole chain', () => {
    const inner = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const copy = scrubCause(new TypeError('fetch failed', { cause: inner }), redact);
    expect(copy).toMatchObject({ name: 'TypeError', message: 'fetch failed' });
    expect(copy?.cause).toMatchObject({ message: 'connect ECONNREFUSED', code: 'ECONNREFUSED' });
  });

  it('keeps nothing else', () => {
    const request = new Request('https://a.example', { headers: { 'x-api-key': 'sk_1' } });
    const error = Object.assign(new Error('with sk_1'), { request, stack: 'at sk_1' });
    const shown = inspect(scrubCause(error, redact), {
      depth: Number.POSITIVE_INFINITY,
      showHidden: true,
    });
    expect(shown).toContain('with [API key]');
    expect(shown).not.toContain('sk_1');
    expect(shown).not.toContain('Request');
  });

  it('takes the first of several failed addresses for the cause', () => {
    const error = new AggregateError([new Error('first'), new Error('second')], 'all');
    expect(scrubCause(error, redact)).toHaveProperty('cause.message', 'first');
  });

  it('reads what is no error', () => {
    expect(scrubCause('sk_1 thrown', redact)).toHaveProperty('message', '[API key] thrown');
    expect(scrubCause(undefined, redact)).toBeUndefined();
  });

  it('ends on a chain that bites its tail', () => {
    const error = new Error('a');
    error.cause = error;
    expect(scrubCause(error, redact)).toHaveProperty('cause.cause.cause.cause.message', 'a');
    expect(scrubCause(error, redact)).not.toHaveProperty('cause.cause.cause.cause.cause');
  });
});
