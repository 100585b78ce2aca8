import { describe, expect, it } from 'vitest';
import { ConnectionError } from '../errors/call-errors.ts';
import { BatchSizing } from './batch-sizing.ts';

const refusal = (message = 'refused') => new ConnectionError(message, { outcome: 'not-sent' });

/** Links that are still to be sent: too many to try each of them. */
const MANY = 1_000;

describe('a batch goes alone', () => {
  it('while it is larger than any that the service took, refused entries included', () => {
    const sizing = new BatchSizing(1_000);
    expect(sizing.goesAlone(1)).toBe(true);
    sizing.taken(100, 90);
    expect(sizing.goesAlone(100)).toBe(false);
    expect(sizing.goesAlone(101)).toBe(true);
    sizing.taken(10, 10);
    expect(sizing.goesAlone(100)).toBe(false);
    expect(sizing.largestTaken).toBe(100);
  });

  it('when it fills what is left of the plan', () => {
    const sizing = new BatchSizing(1_000);
    sizing.taken(100, 100);
    expect(sizing.isFilling).toBe(false);
    sizing.filled();
    expect(sizing.goesAlone(1)).toBe(true);
  });
});

describe('the next batch', () => {
  it('is as large as the plan takes, and never larger again', () => {
    const sizing = new BatchSizing(10_000);
    sizing.resized(100);
    sizing.resized(5_000);
    expect(sizing).toMatchObject({ size: 100, next: 100 });
  });

  it('may fill the plan five times in a row, and again after one that was taken', () => {
    const sizing = new BatchSizing(100);
    // The first one finds the room; each of the others is an attempt to fill it.
    for (let attempt = 0; attempt < 5; attempt += 1) sizing.filled();
    expect(sizing.mayFillAgain).toBe(true);
    sizing.filled();
    expect(sizing.mayFillAgain).toBe(false);
    sizing.taken(7, 7);
    expect(sizing.mayFillAgain).toBe(true);
  });
});

describe('a run is hopeless', () => {
  it('when 1,000 links were refused before any was taken, for the last of the reasons', () => {
    const sizing = new BatchSizing(100);
    const last = refusal('last');
    sizing.allRefused(999, refusal('first'));
    expect(sizing.hopeless(MANY)).toBeUndefined();
    sizing.allRefused(1, last);
    expect(sizing.hopeless(MANY)).toBe(last);
  });

  it('never, when a link was taken', () => {
    const sizing = new BatchSizing(100);
    sizing.taken(1, 1);
    sizing.allRefused(5_000, refusal());
    expect(sizing.hopeless(MANY)).toBeUndefined();
  });
});

describe('links that are refused one by one', () => {
  const refuse = (sizing: BatchSizing, count: number, message = 'no') => {
    const error = refusal(message);
    for (let first = 0; first < count; first += 1) sizing.linkRefused(error);
    return error;
  };

  it('are taken from other places after two of them, and end the run after 20', () => {
    const sizing = new BatchSizing(100);
    refuse(sizing, 1);
    expect(sizing.isSampling).toBe(false);
    refuse(sizing, 1);
    expect(sizing.isSampling).toBe(true);
    refuse(sizing, 17);
    expect(sizing.hopeless(MANY)).toBeUndefined();
    const last = refuse(sizing, 1);
    expect(sizing.hopeless(MANY)).toBe(last);
  });

  it('end no run of which a link was taken', () => {
    const sizing = new BatchSizing(100);
    sizing.taken(1, 1);
    refuse(sizing, 50);
    expect(sizing.isSampling).toBe(false);
    expect(sizing.hopeless(MANY)).toBeUndefined();
  });

  it('count from the beginning where the message is another', () => {
    const sizing = new BatchSizing(100);
    refuse(sizing, 19);
    refuse(sizing, 1, 'other');
    expect(sizing.isSampling).toBe(false);
    expect(sizing.hopeless(MANY)).toBeUndefined();
    refuse(sizing, 19, 'other');
    expect(sizing.hopeless(MANY)).toMatchObject({ message: 'other' });
  });
});

describe('a batch that was refused without a reason and sent again in parts', () => {
  /** A run that has taken 10 links at most, and cuts the batch of 40 links at position 100 into halves. */
  function halved() {
    const sizing = new BatchSizing(40);
    sizing.taken(10, 10);
    sizing.split(40);
    return sizing;
  }

  it('was too large, when all parts are taken', () => {
    const sizing = halved();
    sizing.taken(20, 20);
    expect(sizing.size).toBe(40);
    sizing.taken(20, 20);
    expect(sizing.size).toBe(20);
    // It is settled: what comes later has nothing to do with it.
    sizing.taken(5, 5);
    expect(sizing.size).toBe(20);
  });

  it.each<[string, (sizing: BatchSizing) => void]>([
    ['an entry of a part is refused', (sizing) => sizing.taken(20, 19)],
    ['a part has no certain outcome', () => undefined],
    ['all entries of a part are refused', (sizing) => sizing.allRefused(20, refusal())],
  ])('need not have been too large, when %s', (_, settle) => {
    const sizing = halved();
    settle(sizing);
    sizing.taken(20, 20);
    expect(sizing.size).toBe(40);
  });

  it('was not too large, when as many links were taken before', () => {
    const sizing = new BatchSizing(40);
    sizing.taken(40, 40);
    sizing.split(40);
    sizing.taken(20, 20);
    sizing.taken(20, 20);
    expect(sizing.size).toBe(40);
  });
});
