import { PLAN_LIMITS } from '@shortlink/sdk/wire';
import { expect, test } from 'vitest';
import { NOW, newCaller, newKey, sha256 } from './fixtures.test-suite.ts';
import type { UseStore } from './use-store.test-suite.ts';

export function testAccounts(useStore: UseStore): void {
  const store = useStore();

  test('accounts are found by id and listed oldest first', async () => {
    const input = { plan: 'pro', limits: PLAN_LIMITS.pro, now: NOW } as const;
    const first = await store().createAccount({ ...input, name: 'zebra' });
    const second = await store().createAccount({ ...input, name: 'ant' });
    expect(first).toEqual({
      id: expect.any(String),
      name: 'zebra',
      plan: 'pro',
      limits: PLAN_LIMITS.pro,
    });
    expect(await store().findAccount(first.id)).toEqual(first);
    expect(await store().listAccounts()).toEqual([first, second]);
    expect(await store().findAccount('acc_nobody')).toBeUndefined();
  });

  test('unlimited limits of a Custom account come back as null', async () => {
    const caller = await newCaller(store(), { requests_per_minute: null, links: 7 });
    expect(caller.limits).toMatchObject({ requests_per_minute: null, links: 7 });
  });

  test('a key is found by its hash, with its account', async () => {
    const { accountId } = await newCaller(store(), { links: 5 });
    const hash = sha256('secret');
    const permissions = ['analytics:read', 'shortlinks:write'] as const;
    const outcome = await store().createKey({ accountId, name: 'ci', permissions, hash, now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    expect(await store().findKeyByHash(hash)).toEqual({
      keyId: outcome.value.id,
      accountId,
      permissions,
      limits: { ...PLAN_LIMITS.custom, links: 5 },
    });
    expect(await store().findKeyByHash(sha256('Secret'))).toBeUndefined();
  });

  test('one hash can not belong to two keys', async () => {
    const { accountId } = await newCaller(store());
    const input = { accountId, name: '', permissions: [], hash: sha256('twice'), now: NOW };
    await store().createKey(input);
    await expect(store().createKey(input)).rejects.toMatchObject({ name: 'StoreError' });
    expect(await store().listKeys(accountId)).toHaveLength(2);
  });

  test('keys are listed oldest first, of one account', async () => {
    const caller = await newCaller(store());
    await newCaller(store());
    const second = await newKey(store(), caller.accountId, ['analytics:read']);
    expect(await store().listKeys(caller.accountId)).toEqual([
      {
        id: caller.keyId,
        account_id: caller.accountId,
        name: 'ci',
        permissions: ['shortlinks:write'],
      },
      {
        id: second.keyId,
        account_id: caller.accountId,
        name: 'ci',
        permissions: ['analytics:read'],
      },
    ]);
  });

  test('a revoked key is neither found nor listed, and is revoked once', async () => {
    const { accountId } = await newCaller(store());
    const hash = sha256('gone');
    const input = { accountId, name: '', permissions: [], hash, now: NOW } as const;
    const outcome = await store().createKey(input);
    if (!outcome.ok) throw new Error(outcome.reason);
    const owner = { account_id: accountId, account: 'Acme', name: '' };
    expect(await store().revokeKey(outcome.value.id, NOW)).toEqual(owner);
    expect(await store().findKeyByHash(hash)).toBeUndefined();
    expect(await store().listKeys(accountId)).toHaveLength(1);
    const before = new Date(NOW).toISOString();
    expect(await store().revokeKey(outcome.value.id, NOW + 1)).toEqual({ ...owner, before });
    expect(await store().revokeKey(outcome.value.id, NOW + 2)).toEqual({ ...owner, before });
    expect(await store().revokeKey('key_nobody', NOW)).toBeUndefined();
  });

  test("the plan's number of keys holds when many are created at once; a revoked key frees its place", async () => {
    await newCaller(store());
    const caller = await newCaller(store(), { api_keys: 3 });
    const create = (name: string) =>
      store().createKey({
        accountId: caller.accountId,
        name,
        permissions: [],
        hash: sha256(name),
        now: NOW,
      });
    const outcomes = await Promise.all(Array.from({ length: 9 }, (_, n) => create(`key ${n}`)));
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(2);
    expect(outcomes.find((outcome) => !outcome.ok)).toEqual({
      ok: false,
      reason: 'plan_limit',
      limit: 'api_keys',
      used: 3,
      allowed: 3,
    });
    await store().revokeKey(caller.keyId, NOW);
    expect(await create('another')).toMatchObject({ ok: true });
    expect(await create('one too many')).toMatchObject({ ok: false });
  });

  test('a key needs an account that exists', async () => {
    const input = { accountId: 'acc_nobody', name: '', permissions: [], now: NOW };
    await expect(store().createKey({ ...input, hash: sha256('x') })).rejects.toThrow('acc_nobody');
  });

  test('a hostname belongs to one account', async () => {
    const caller = await newCaller(store());
    const other = await newCaller(store());
    const { accountId } = caller;
    const first = await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
    expect(first).toEqual({
      id: expect.any(String),
      hostname: 'go.example',
      account_id: accountId,
    });
    const again = { hostname: 'go.example', now: NOW };
    expect(await store().addDomain({ ...again, accountId })).toBeUndefined();
    expect(await store().addDomain({ ...again, accountId: other.accountId })).toBeUndefined();
    const second = await store().addDomain({ hostname: 'a.example', accountId, now: NOW });
    expect(await store().listDomains()).toEqual([first, second]);
    // One that was removed meanwhile keeps its place.
    await store().removeDomain({ ...again, force: true });
    await store().addDomain({ ...again, accountId });
    expect(await store().listDomains()).toEqual([first, second]);
  });

  test("ownedDomains picks the account's own", async () => {
    const caller = await newCaller(store());
    const other = await newCaller(store());
    const { accountId } = caller;
    const own = await store().addDomain({ hostname: 'own.example', accountId, now: NOW });
    await store().addDomain({
      hostname: 'foreign.example',
      accountId: other.accountId,
      now: NOW,
    });
    expect(await store().ownedDomains(accountId)).toEqual(new Set([own?.id]));
    expect(await store().ownedDomains('acc_nobody')).toEqual(new Set());
  });
}
