import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeService, links, planLimit } from '../../test/fake-service.ts';
import { lives, outcomes, runCreateMany, settle } from '../../test/run-create-many.ts';

/** A service with room for some links, which refuses a batch that does not fit whole. */
function smallPlan(allowed: number, inUse = 0) {
  const service = new FakeService();
  const plan = { inUse, refused: 0 };
  service.onBatch = async (_, sent) => {
    await settle();
    const used = plan.inUse + service.created.size;
    if (used + sent.length <= allowed) return;
    plan.refused += 1;
    throw planLimit({ limit: 'links', used, allowed });
  };
  return { service, plan };
}

describe('createMany: filling a plan', () => {
  it('creates as many links as there is room for, then throws the plan limit', async () => {
    const { service } = smallPlan(1_000, 870);
    const { items, events, error } = await runCreateMany(service, links(300));
    expect(service.asked).toEqual([300, 130, 170]);
    expect(outcomes(items)).toBe('c'.repeat(130));
    expect(error).toMatchObject({
      name: 'PlanLimitError',
      limit: 'links',
      used: 1_000,
      allowed: 1_000,
    });
    expect(lives(events)).toEqual([
      ...['0+300 planned', '0+300 sent', '0+300 resized'],
      ...['0+130 planned', '0+130 sent', '0+130 accepted', '0+130 completed'],
      ...['130+170 planned', '130+170 sent', '130+170 unsent'],
    ]);
  });

  it('fills it to the last link with several batches in flight', async () => {
    const { service, plan } = smallPlan(735);
    const { items, error } = await runCreateMany(service, links(2_000), { batchSize: 100 });
    expect(error).toMatchObject({ name: 'PlanLimitError', used: 735 });
    expect(outcomes(items)).toBe('c'.repeat(735));
    expect(items.map(({ index }) => index)).toEqual([...Array(735).keys()]);
    expect(plan.refused).toBeLessThanOrEqual(4 + 2);
  });

  it('tries again with less when others take the room meanwhile, but not forever', async () => {
    const { service, plan } = smallPlan(100);
    const refuse = service.onBatch;
    service.onBatch = async (n, sent) => {
      if (n === 1) plan.inUse = 40;
      await refuse(n, sent);
    };
    const { items, error } = await runCreateMany(service, links(300));
    expect(service.asked).toEqual([300, 100, 60, 40]);
    expect(outcomes(items)).toBe('c'.repeat(60));
    expect(error).toMatchObject({ used: 100 });

    const always = new FakeService();
    always.onBatch = (_, sent) => {
      throw planLimit({ limit: 'links', used: 0, allowed: sent.length - 1 });
    };
    const ended = await runCreateMany(always, links(300));
    expect(always.asked).toEqual([300, 299, 298, 297, 296, 295, 294]);
    expect(ended.error).toMatchObject({ name: 'PlanLimitError' });
    expect(ended.items).toEqual([]);
  });

  it('continues when there is room again', async () => {
    const { service, plan } = smallPlan(250, 200);
    const refuse = service.onBatch;
    service.onBatch = async (n, sent) => {
      if (n === 2) plan.inUse = 0;
      await refuse(n, sent);
    };
    const { items } = await runCreateMany(service, links(300), { batchSize: 100 });
    expect(outcomes(items)).toBe('c'.repeat(250));
  });

  it.each([
    { used: 1_000, allowed: 1_000 },
    { used: 1_200, allowed: 1_000 },
    { used: -50, allowed: 100 },
    { used: 0.5, allowed: 100 },
    { used: 0, allowed: 300 },
    { allowed: 100 },
    {},
  ])('does not try with room that makes no sense: %j', async (body) => {
    const service = new FakeService();
    service.onBatch = () => {
      throw planLimit({ limit: 'links', ...body });
    };
    const { error } = await runCreateMany(service, links(300));
    expect(service.asked).toEqual([300]);
    expect(error).toMatchObject({ name: 'PlanLimitError' });
  });

  it('creates exactly the links that there is room for, in order, whatever the batches', async () => {
    const scenarios = fc.record({
      total: fc.integer({ min: 0, max: 80 }),
      allowed: fc.integer({ min: 0, max: 80 }),
      batchSize: fc.integer({ min: 1, max: 30 }),
      concurrency: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(scenarios, async ({ total, allowed, batchSize, concurrency }) => {
        const { service, plan } = smallPlan(allowed);
        const options = { batchSize, concurrency };
        const { items, error } = await runCreateMany(service, links(total), options);
        expect(service.created.size).toBe(Math.min(total, allowed));
        expect(items).toHaveLength(Math.min(total, allowed));
        expect(items.every(({ outcome }) => outcome === 'created')).toBe(true);
        expect(error === undefined).toBe(total <= allowed);
        expect(plan.refused).toBeLessThanOrEqual(concurrency + 2);
      }),
      { numRuns: 40 },
    );
  });
});
