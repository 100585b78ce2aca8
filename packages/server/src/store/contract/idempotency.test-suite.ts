import { expect, test } from 'vitest';
import { toJobInput } from '../links.ts';
import type { CreateRequest, NewLink } from '../store.ts';
import { linksUsed, NOW, newCaller, newLink, newLinks } from './fixtures.test-suite.ts';
import type { UseStore } from './use-store.test-suite.ts';

const DAY = 86_400_000;
const idempotency = { key: 'k-1', fingerprint: 'body-1' };

export function testIdempotency(useStore: UseStore): void {
  const store = useStore();

  test('the same key and body replay the stored answer, and create nothing', async () => {
    const caller = await newCaller(store());
    const request: CreateRequest<NewLink> = { caller, input: newLink(), now: NOW, idempotency };
    const first = await store().createLink(request);
    const second = await store().createLink({ ...request, now: NOW + DAY - 1 });
    expect(first).toMatchObject({ ok: true, replayed: false });
    expect(second).toEqual({ ...first, replayed: true });
    expect(await linksUsed(store(), caller)).toBe(1);
  });

  test('batches and jobs are replayed too', async () => {
    const caller = await newCaller(store());
    const request = { caller, input: newLinks(3), now: NOW };
    const batch = { ...request, idempotency: { key: 'batch', fingerprint: 'f' } };
    const idempotency = { key: 'job', fingerprint: 'f' };
    const job = () => ({ ...request, input: toJobInput(request.input), idempotency });
    const answers = [await store().createBatch(batch), await store().createJob(job())];
    expect(await store().createBatch(batch)).toEqual({ ...answers[0], replayed: true });
    expect(await store().createJob(job())).toEqual({ ...answers[1], replayed: true });
    expect(await store().pendingJobs()).toHaveLength(1);
    expect(await linksUsed(store(), caller)).toBe(6);
  });

  test('what a key created is found by its fingerprint, in its account, for 24 hours', async () => {
    const { accountId, ...caller } = await newCaller(store());
    const find = (id: string, fingerprint: string, now: number) =>
      store().findCreated(id, { key: 'k-1', fingerprint }, now);
    expect(await find(accountId, 'body-1', NOW)).toBeUndefined();
    const request = { caller: { accountId, ...caller }, input: newLink(), now: NOW, idempotency };
    const created = await store().createLink(request);
    const value = created.ok ? created.value : 'none';
    expect(await find(accountId, 'body-1', NOW + DAY - 1)).toEqual(value);
    expect(await find(accountId, 'body-1', NOW + DAY)).toBeUndefined();
    expect(await find(accountId, 'body-2', NOW)).toBeUndefined();
    expect(await find('acc_other', 'body-1', NOW)).toBeUndefined();
  });

  test('of simultaneous duplicates one creates', async () => {
    const caller = await newCaller(store());
    const request = { caller, input: newLink(), now: NOW, idempotency };
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => store().createLink(request)),
    );
    expect(answers.filter((answer) => answer.ok && !answer.replayed)).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.ok && answer.value.id)).size).toBe(1);
    expect(await linksUsed(store(), caller)).toBe(1);
  });

  test('the same key with another body is a conflict, and creates nothing', async () => {
    const caller = await newCaller(store());
    await store().createLink({ caller, input: newLink(), now: NOW, idempotency });
    const other = { key: 'k-1', fingerprint: 'body-2' };
    expect(
      await store().createBatch({ caller, input: newLinks(2), now: NOW, idempotency: other }),
    ).toEqual({ ok: false, reason: 'idempotency_conflict' });
    expect(await linksUsed(store(), caller)).toBe(1);
  });

  test('accounts do not share keys', async () => {
    const one = await newCaller(store());
    const other = await newCaller(store());
    await store().createLink({ caller: one, input: newLink(), now: NOW, idempotency });
    const answer = await store().createLink({
      caller: other,
      input: newLink(),
      now: NOW,
      idempotency,
    });
    expect(answer).toMatchObject({ ok: true, replayed: false });
  });

  test('after 24 hours a key creates again, also before anything was pruned', async () => {
    const caller = await newCaller(store());
    const request = { caller, input: newLink(), now: NOW, idempotency };
    await store().createLink(request);
    const later = { ...request, now: NOW + DAY, idempotency: { key: 'k-1', fingerprint: 'new' } };
    const created = await store().createLink(later);
    expect(created).toMatchObject({ ok: true, replayed: false });
    expect(await store().createLink(later)).toEqual({ ...created, replayed: true });
    expect(await linksUsed(store(), caller)).toBe(2);
  });

  test('a refusal is not kept: the same request creates when the plan allows it', async () => {
    const caller = await newCaller(store(), { links: 0 });
    const request = { caller, input: newLink(), now: NOW, idempotency };
    expect(await store().createLink(request)).toMatchObject({ ok: false, reason: 'plan_limit' });
    const upgraded = { ...caller, limits: { ...caller.limits, links: 1 } };
    expect(await store().createLink({ ...request, caller: upgraded })).toMatchObject({
      ok: true,
      replayed: false,
    });
  });

  test('a refusal leaves nothing of its key, and that of another account as it was', async () => {
    const [caller, other] = [await newCaller(store(), { links: 0 }), await newCaller(store())];
    const create = (one: typeof caller) =>
      store().createLink({ caller: one, input: newLink(), now: NOW, idempotency });
    expect(await create(other)).toMatchObject({ ok: true, replayed: false });
    expect(await create(caller)).toMatchObject({ reason: 'plan_limit' });
    expect(await store().findCreated(caller.accountId, idempotency, NOW)).toBeUndefined();
    expect(await create(other)).toMatchObject({ ok: true, replayed: true });
  });

  test('a replay passes a plan limit that is reached', async () => {
    const caller = await newCaller(store(), { links: 1 });
    const request = { caller, input: newLink(), now: NOW, idempotency };
    await store().createLink(request);
    expect(await store().createLink(request)).toMatchObject({ ok: true, replayed: true });
  });
}
