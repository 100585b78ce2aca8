import { describe, expect, it } from 'vitest';
import { ConnectionError } from '../errors/call-errors.ts';
import { smallerBatchSize } from './batch-size.ts';
import { apiError, planLimit } from './fake-service.ts';

describe('smallerBatchSize', () => {
  const ofBatchSize = (allowed?: number) => planLimit({ limit: 'batch_size', allowed });

  it.each([
    [10_000, 5_000],
    [9_999, 5_000],
    [5_001, 5_000],
    [5_000, 100],
    [101, 100],
    [100, undefined],
    [1, undefined],
  ])('goes from %i to %s', (count, smaller) => {
    expect(smallerBatchSize(ofBatchSize(), count, 0)).toBe(smaller);
    expect(smallerBatchSize(planLimit(), count, 0)).toBe(smaller);
  });

  it.each([
    [700, 700],
    [1, 1],
    [0, 5_000],
    [-5, 5_000],
    [0.5, 5_000],
    [10_000, 5_000],
    [Number.NaN, 5_000],
  ])('takes an allowed size of %d as %i', (allowed, smaller) => {
    expect(smallerBatchSize(ofBatchSize(allowed), 10_000, 0)).toBe(smaller);
  });

  it('does not take the allowed number of an unnamed limit for a batch size', () => {
    expect(smallerBatchSize(planLimit({ allowed: 15 }), 10_000, 0)).toBe(5_000);
  });

  it('does not blame a size that was taken before, unless the service names it', () => {
    expect(smallerBatchSize(planLimit(), 5_000, 5_000)).toBeUndefined();
    expect(smallerBatchSize(planLimit(), 5_001, 5_000)).toBe(5_000);
    expect(smallerBatchSize(ofBatchSize(), 5_000, 5_000)).toBe(100);
  });

  it('halves what is too large in bytes, down to one link', () => {
    const tooLarge = apiError(413, { error: 'too large' });
    expect(smallerBatchSize(tooLarge, 9, 9)).toBe(4);
    expect(smallerBatchSize(tooLarge, 2, 0)).toBe(1);
    expect(smallerBatchSize(tooLarge, 1, 0)).toBeUndefined();
  });

  it('has nothing to say to other errors and limits', () => {
    expect(smallerBatchSize(planLimit({ limit: 'links', allowed: 5 }), 10_000, 0)).toBeUndefined();
    expect(smallerBatchSize(planLimit({ limit: 'api_keys' }), 10_000, 0)).toBeUndefined();
    expect(smallerBatchSize(apiError(403, { error: 'permission' }), 10_000, 0)).toBeUndefined();
    expect(smallerBatchSize(apiError(400, { error: 'bad' }), 10_000, 0)).toBeUndefined();
    const lost = new ConnectionError('lost', { outcome: 'unknown' });
    expect(smallerBatchSize(lost, 10_000, 0)).toBeUndefined();
  });
});
