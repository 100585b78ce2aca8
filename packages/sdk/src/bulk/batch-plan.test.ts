import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { apiError, links, planLimit } from '../../test/fake-service.ts';
import type { LinkInput } from '../wire/link.ts';
import { BatchPlan, entryOf, rangeOf } from './batch-plan.ts';

const refusal = (message = 'refused') => apiError(400, { error: message });

const planOf = (batchSize: number) => new BatchPlan<LinkInput>({ batchSize });

const batchOf = (count: number) => links(count).map(entryOf);

/** Judges an error of a batch that was sent whole. */
const judge = (plan: BatchPlan<LinkInput>, error: ReturnType<typeof refusal>, count: number) =>
  plan.judge(error, count, count);

/** Links that are still to be sent: too many to try each of them. */
const MANY = 1_000;

describe('a batch goes alone', () => {
  it('while it is larger than any that the service took, refused entries included', () => {
    const plan = planOf(1_000);
    expect(plan.goesAlone(1)).toBe(true);
    plan.taken(100, 90);
    expect(plan.goesAlone(100)).toBe(false);
    expect(plan.goesAlone(101)).toBe(true);
    plan.taken(10, 10);
    expect(plan.goesAlone(100)).toBe(false);
    expect(plan.largestTaken).toBe(100);
  });

  it('when it fills what is left of the plan', () => {
    const plan = planOf(1_000);
    plan.taken(100, 100);
    expect(plan.goesAlone(1)).toBe(false);
    judge(plan, planLimit({ limit: 'links', used: 4, allowed: 9 }), 100);
    expect(plan.goesAlone(1)).toBe(true);
  });
});

describe('the next batch', () => {
  it('is as large as the plan takes, and never larger again', () => {
    const plan = planOf(10_000);
    judge(plan, planLimit({ limit: 'batch_size', allowed: 100 }), 10_000);
    judge(plan, planLimit({ limit: 'batch_size', allowed: 5_000 }), 10_000);
    expect(plan.size).toBe(100);
  });

  it('may fill the plan five times in a row, and again after one that was taken', () => {
    const plan = planOf(100);
    plan.put(batchOf(100));
    const full = planLimit({ limit: 'links', used: 0, allowed: 1 });
    // The first one finds the room; each of the others is an attempt to fill it.
    expect(judge(plan, full, 100)).toBe(1);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      plan.put(...[plan.take()].filter((batch) => batch !== undefined));
      expect(judge(plan, full, 100)).toBe(1);
    }
    plan.take();
    expect(judge(plan, full, 100)).toBe('unsent');
    plan.taken(7, 7);
    expect(judge(plan, full, 100)).toBe(1);
  });

  it('may fill the plan also after others were refused for an entry of theirs', () => {
    const plan = planOf(100);
    plan.put(batchOf(100));
    const full = planLimit({ limit: 'links', used: 0, allowed: 1 });
    expect(judge(plan, full, 100)).toBe(1);
    for (let halves = 0; halves < 6; halves += 1) {
      plan.put(...[plan.take()].filter((batch) => batch !== undefined));
      expect(judge(plan, refusal(), 100)).toBe(50);
    }
    expect(judge(plan, full, 100)).toBe(1);
  });
});

describe('a run is hopeless', () => {
  it('when 1,000 links were refused before any was taken, for the last of the reasons', () => {
    const plan = planOf(100);
    const last = refusal('last');
    plan.allRefused(999, refusal('first'));
    expect(plan.hopeless(MANY)).toBeUndefined();
    plan.allRefused(1, last);
    expect(plan.hopeless(MANY)).toBe(last);
  });

  it('never, when a link was taken', () => {
    const plan = planOf(100);
    plan.taken(1, 1);
    plan.allRefused(5_000, refusal());
    expect(plan.hopeless(MANY)).toBeUndefined();
  });
});

describe('links that are refused one by one', () => {
  const refuse = (plan: BatchPlan<LinkInput>, count: number, message = 'no') => {
    const error = refusal(message);
    for (let first = 0; first < count; first += 1) judge(plan, error, 1);
    return error;
  };

  it('are taken from other places after two of them, and end the run after 20', () => {
    const plan = planOf(100);
    refuse(plan, 1);
    expect(plan.isSampling).toBe(false);
    refuse(plan, 1);
    expect(plan.isSampling).toBe(true);
    refuse(plan, 17);
    expect(plan.hopeless(MANY)).toBeUndefined();
    const last = refuse(plan, 1);
    expect(plan.hopeless(MANY)).toBe(last);
  });

  it('are the last one and then others at random: a run that begins with the same links tries others', () => {
    const takenAt = (random: number, refused = 3) => {
      const spy = vi.spyOn(Math, 'random').mockReturnValue(random);
      onTestFinished(() => spy.mockRestore());
      const plan = planOf(100);
      plan.put(batchOf(100));
      refuse(plan, refused);
      const { first, count } = rangeOf(plan.take() ?? []);
      return [first, count];
    };
    expect([takenAt(0, 2), takenAt(0), takenAt(0.42), takenAt(0.999)]).toEqual([
      [99, 1],
      [0, 1],
      [42, 1],
      [99, 1],
    ]);
  });

  it('end no run of which a link was taken', () => {
    const plan = planOf(100);
    plan.taken(1, 1);
    refuse(plan, 50);
    expect(plan.isSampling).toBe(false);
    expect(plan.hopeless(MANY)).toBeUndefined();
  });

  it('count from the beginning where the message is another', () => {
    const plan = planOf(100);
    refuse(plan, 19);
    refuse(plan, 1, 'other');
    expect(plan.isSampling).toBe(false);
    expect(plan.hopeless(MANY)).toBeUndefined();
    refuse(plan, 19, 'other');
    expect(plan.hopeless(MANY)).toMatchObject({ message: 'other' });
  });
});

describe('a batch that was refused without a reason and sent again in parts', () => {
  /** A run that has taken 10 links at most, and cuts the batch of 40 links at position 100 into halves. */
  function halved() {
    const plan = planOf(40);
    plan.taken(10, 10);
    judge(plan, refusal(), 40);
    return plan;
  }

  it('was too large, when all parts are taken', () => {
    const plan = halved();
    plan.taken(20, 20);
    expect(plan.size).toBe(40);
    plan.taken(20, 20);
    expect(plan.size).toBe(20);
    // It is settled: what comes later has nothing to do with it.
    plan.taken(5, 5);
    expect(plan.size).toBe(20);
  });

  it.each<[string, (plan: BatchPlan<LinkInput>) => void]>([
    ['an entry of a part is refused', (plan) => plan.taken(20, 19)],
    ['a part has no certain outcome', () => undefined],
    ['all entries of a part are refused', (plan) => plan.allRefused(20, refusal())],
  ])('need not have been too large, when %s', (_, settle) => {
    const plan = halved();
    settle(plan);
    plan.taken(20, 20);
    expect(plan.size).toBe(40);
  });

  it('was not too large, when as many links were taken before', () => {
    const plan = planOf(40);
    plan.taken(40, 40);
    judge(plan, refusal(), 40);
    plan.taken(20, 20);
    plan.taken(20, 20);
    expect(plan.size).toBe(40);
  });
});
