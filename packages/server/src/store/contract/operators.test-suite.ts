import { PLAN_LIMITS } from '@shortlink/sdk/wire';
import { describe, expect, test } from 'vitest';
import { toJobInput } from '../links.ts';
import {
  finishJob,
  NOW,
  newCaller,
  newJob,
  newLink,
  newLinks,
  resultsOf,
  sha256,
} from './fixtures.test-suite.ts';
import type { UseStore } from './use-store.test-suite.ts';

const HOUR_MS = 3_600_000;

export function testOperators(useStore: UseStore): void {
  const store = useStore();

  /** Creates a link and answers its code. */
  async function createLink(caller: Awaited<ReturnType<typeof newCaller>>, fields = {}) {
    const outcome = await store().createLink({ caller, input: newLink(1, fields), now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    return outcome.value;
  }

  /** Creates a key and answers its id. */
  async function createKey(accountId: string, secret: string, expiresAt?: number) {
    const outcome = await store().createKey({
      accountId,
      name: 'ci',
      permissions: ['analytics:read'],
      hash: sha256(secret),
      expiresAt,
      now: NOW,
    });
    if (!outcome.ok) throw new Error(outcome.limit);
    return outcome.value.id;
  }

  describe('accounts', () => {
    test('a change keeps what it leaves out, and holds for the next request', async () => {
      const { accountId: id } = await newCaller(store(), { links: 5 });
      await createKey(id, 'one');
      const limits = { ...PLAN_LIMITS.custom, links: 5, requests_per_minute: 7 };
      const change = { limits: { requests_per_minute: 7 } };
      const changed = await store().updateAccount({ id, change });
      expect(changed).toEqual({ id, name: 'Acme', plan: 'custom', limits });
      expect(await store().findAccount(id)).toEqual(changed);
      expect(await store().findKeyByHash(sha256('one'))).toMatchObject({ limits });
      await store().updateAccount({ id, change: { name: 'New' } });
      expect(await store().findAccount(id)).toMatchObject({ name: 'New', limits });
    });

    test('another plan brings its own limits, the same plan changes none', async () => {
      const { accountId: id } = await newCaller(store(), { links: 5 });
      expect(await store().updateAccount({ id, change: { plan: 'custom' } })).toMatchObject({
        limits: { links: 5 },
      });
      const pro = await store().updateAccount({ id, change: { plan: 'pro' } });
      expect(pro).toMatchObject({ plan: 'pro', limits: PLAN_LIMITS.pro });
      const change = { plan: 'custom', limits: { links: 9 } } as const;
      expect(await store().updateAccount({ id, change })).toMatchObject({
        limits: { ...PLAN_LIMITS.custom, links: 9 },
      });
    });

    test('simultaneous changes of different limits all stay', async () => {
      const { accountId: id } = await newCaller(store());
      const names = ['requests_per_minute', 'requests_per_day', 'links', 'api_keys'] as const;
      await Promise.all(
        names.map((name) => store().updateAccount({ id, change: { limits: { [name]: 3 } } })),
      );
      expect((await store().findAccount(id))?.limits).toMatchObject(
        Object.fromEntries(names.map((name) => [name, 3])),
      );
    });

    test('a disabled account says so in its keys, and its links are inactive until it is enabled', async () => {
      const caller = await newCaller(store());
      const other = await newCaller(store());
      const { accountId: id } = caller;
      await createKey(id, 'one');
      const [link, foreign] = [await createLink(caller), await createLink(other)];
      const since = new Date(NOW).toISOString();
      const disabled = await store().setAccountDisabled({ id, disabled: true, now: NOW });
      expect(disabled).toMatchObject({ id, disabled_at: since });
      const again = await store().setAccountDisabled({ id, disabled: true, now: NOW + 1 });
      expect(again).toMatchObject({ disabled_at: since });
      expect((await store().listAccounts()).map((account) => account.disabled_at)).toEqual([
        since,
        undefined,
      ]);
      expect(await store().findKeyByHash(sha256('one'))).toMatchObject({ disabled: true });
      expect(await store().findRedirect(link.code)).toMatchObject({ is_active: false });
      expect(await store().findRedirect(foreign.code)).toMatchObject({ is_active: true });
      // A person sees the same as a visitor.
      expect(await store().findLink(link.code)).toEqual({ ...link, is_active: false });
      expect(await store().listLinks({ accountId: id, limit: 1 })).toMatchObject([
        { is_active: false },
      ]);
      const enabled = await store().setAccountDisabled({ id, disabled: false, now: NOW });
      expect(enabled).toEqual(await store().findAccount(id));
      expect(enabled?.disabled_at).toBeUndefined();
      expect(await store().findRedirect(link.code)).toMatchObject({ is_active: true });
      expect(await store().findLink(link.code)).toEqual(link);
      expect((await store().findKeyByHash(sha256('one')))?.disabled).toBeUndefined();
    });

    test('an unknown account is neither changed nor disabled', async () => {
      expect(await store().updateAccount({ id: 'acc_nobody', change: {} })).toBeUndefined();
      const input = { id: 'acc_nobody', disabled: true, now: NOW };
      expect(await store().setAccountDisabled(input)).toBeUndefined();
    });
  });

  describe('keys', () => {
    test('a key that ends says when, and no longer counts in the plan after it', async () => {
      const { accountId } = await newCaller(store(), { api_keys: 2 });
      await createKey(accountId, 'short', NOW + HOUR_MS);
      expect(await store().findKeyByHash(sha256('short'))).toMatchObject({
        expiresAt: NOW + HOUR_MS,
      });
      expect((await store().listKeys(accountId))[1]).toMatchObject({
        expires_at: new Date(NOW + HOUR_MS).toISOString(),
      });
      const input = { accountId, name: '', permissions: [], hash: sha256('next') };
      expect(await store().createKey({ ...input, now: NOW + HOUR_MS - 1 })).toMatchObject({
        ok: false,
        used: 2,
      });
      expect((await store().usage(accountId, NOW + HOUR_MS - 1)).api_keys.used).toBe(2);
      const later = await store().usage(accountId, NOW + HOUR_MS);
      expect(later.api_keys.used).toBe(1);
      expect(later.keys).toHaveLength(1);
      expect(await store().createKey({ ...input, now: NOW + HOUR_MS })).toMatchObject({ ok: true });
    });

    test('a rotated key gives name and permissions on, and ends after its grace; the plan counts one of both', async () => {
      const { accountId, keyId } = await newCaller(store(), { api_keys: 2 });
      const old = await createKey(accountId, 'old');
      const outcome = await store().rotateKey({
        keyId: old,
        hash: sha256('new'),
        graceMs: HOUR_MS,
        now: NOW,
      });
      if (!outcome.ok) throw new Error(outcome.reason);
      const { id } = outcome.value;
      expect(outcome.value).toEqual({
        id: expect.not.stringMatching(old),
        account_id: accountId,
        name: 'ci',
        permissions: ['analytics:read'],
      });
      expect(await store().findKeyByHash(sha256('old'))).toMatchObject({
        keyId: old,
        expiresAt: NOW + HOUR_MS,
      });
      expect((await store().findKeyByHash(sha256('new')))?.expiresAt).toBeUndefined();
      const listed = await store().listKeys(accountId);
      expect(listed.map((key) => [key.id, key.replaced_by])).toEqual([
        [keyId, undefined],
        [old, id],
        [id, undefined],
      ]);
      const during = await store().usage(accountId, NOW + HOUR_MS - 1);
      expect([during.api_keys.used, during.keys.length]).toEqual([2, 3]);
      expect(during.keys[1]).toMatchObject({ id: old, replaced_by: id });
      const after = await store().usage(accountId, NOW + HOUR_MS);
      expect([after.api_keys.used, after.keys.length]).toEqual([2, 2]);

      // During the grace, the old key takes no quota slot from a third one either.
      expect(await store().revokeKey(keyId, NOW)).toBeTruthy();
      const next = { accountId, name: '', permissions: [], now: NOW + HOUR_MS - 1 };
      const third = store().createKey({ ...next, hash: sha256('third') });
      expect(await third).toMatchObject({ ok: true });
      const fourth = store().createKey({ ...next, hash: sha256('fourth') });
      expect(await fourth).toMatchObject({ ok: false, used: 2 });
    });

    test('a key is rotated once, also by many at the same time', async () => {
      const { keyId, accountId } = await newCaller(store());
      const rotations = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          store().rotateKey({ keyId, hash: sha256(`new ${n}`), graceMs: HOUR_MS, now: NOW }),
        ),
      );
      expect(rotations.filter((outcome) => outcome.ok)).toHaveLength(1);
      expect(rotations.find((outcome) => !outcome.ok)).toEqual({ ok: false, reason: 'rotated' });
      expect(await store().listKeys(accountId)).toHaveLength(2);
    });

    test('ends are kept: the earlier one of the old key, and a given or inherited one of the new', async () => {
      const { accountId } = await newCaller(store());
      const soon = await createKey(accountId, 'soon', NOW + 5);
      const input = { graceMs: HOUR_MS, now: NOW };
      await store().rotateKey({ ...input, keyId: soon, hash: sha256('heir') });
      expect(await store().findKeyByHash(sha256('soon'))).toMatchObject({ expiresAt: NOW + 5 });
      expect(await store().findKeyByHash(sha256('heir'))).toMatchObject({ expiresAt: NOW + 5 });
      const given = await createKey(accountId, 'given', NOW + 5);
      const expiresAt = NOW + 2 * HOUR_MS;
      await store().rotateKey({ ...input, keyId: given, hash: sha256('long'), expiresAt });
      expect(await store().findKeyByHash(sha256('long'))).toMatchObject({ expiresAt });
    });

    test('without a grace, the old key ends at once, also by a clock that is an hour ahead', async () => {
      const { accountId } = await newCaller(store());
      const keyId = await createKey(accountId, 'old');
      await store().rotateKey({ keyId, hash: sha256('new'), graceMs: 0, now: NOW + HOUR_MS });
      expect((await store().findKeyByHash(sha256('old')))?.expiresAt).toBeLessThan(NOW);
      expect((await store().findKeyByHash(sha256('new')))?.expiresAt).toBeUndefined();
    });

    test('unknown, revoked and expired keys can not be rotated', async () => {
      const { accountId, keyId } = await newCaller(store());
      const expired = await createKey(accountId, 'expired', NOW);
      await store().revokeKey(keyId, NOW);
      for (const id of ['key_nobody', keyId, expired]) {
        const input = { keyId: id, hash: sha256(`new ${id}`), graceMs: 0, now: NOW };
        expect(await store().rotateKey(input)).toEqual({ ok: false, reason: 'ended' });
      }
    });

    test('the last use of a key is the latest one that was recorded', async () => {
      const { accountId, keyId } = await newCaller(store());
      expect((await store().listKeys(accountId))[0]?.last_used_at).toBeUndefined();
      await Promise.all([2, 5, 1].map((minute) => store().recordKeyUse(keyId, NOW + minute)));
      await store().recordKeyUse('key_nobody', NOW);
      const last_used_at = new Date(NOW + 5).toISOString();
      expect((await store().listKeys(accountId))[0]).toMatchObject({ last_used_at });
      expect((await store().usage(accountId, NOW)).keys[0]).toMatchObject({ last_used_at });
    });
  });

  describe('removed domains', () => {
    const hostname = 'go.example';
    const remove = (force = false) => store().removeDomain({ hostname, force, now: NOW });

    test('a domain without links is removed, and its own account gets it back as it was', async () => {
      const { accountId } = await newCaller(store());
      const domain = await store().addDomain({ hostname, accountId, now: NOW });
      expect(await remove()).toEqual({ ok: true, value: domain });
      expect(await store().listDomains()).toEqual([]);
      expect(await store().ownedDomains(accountId)).toEqual(new Set());
      expect(await remove()).toEqual({ ok: false, reason: 'unknown' });
      expect(await store().addDomain({ hostname, accountId, now: NOW })).toEqual(domain);
      expect(await store().listDomains()).toEqual([domain]);
      expect(await store().addDomain({ hostname, accountId, now: NOW })).toBeUndefined();
    });

    test('one with links is removed by force only; they are inactive until it is back', async () => {
      const caller = await newCaller(store());
      const { accountId } = caller;
      const domain = await store().addDomain({ hostname, accountId, now: NOW });
      const { code } = await createLink(caller, { domain_id: domain?.id });
      expect(await remove()).toEqual({ ok: false, reason: 'has_links' });
      expect(await store().findRedirect(code)).toMatchObject({ is_active: true, hostname });
      expect(await remove(true)).toMatchObject({ ok: true });
      expect(await store().findRedirect(code)).toMatchObject({ is_active: false, hostname });
      await store().addDomain({ hostname, accountId, now: NOW });
      expect(await store().findRedirect(code)).toMatchObject({ is_active: true, hostname });
    });

    test('another account gets the hostname without the links of the first', async () => {
      const caller = await newCaller(store());
      const other = await newCaller(store());
      const { accountId } = caller;
      const first = await store().addDomain({ hostname, accountId, now: NOW });
      const { code, short_url } = await createLink(caller, { domain_id: first?.id });
      const links = newLinks(3).map((link) => ({ ...link, domain_id: first?.id ?? null }));
      const accepted = await store().createJob({ caller, input: toJobInput(links), now: NOW });
      if (!accepted.ok) throw new Error(accepted.reason);
      const jobId = accepted.value.job_id;
      await remove(true);
      expect(await store().findLink(code)).toMatchObject({ is_active: false, short_url });
      const second = await store().addDomain({ hostname, accountId: other.accountId, now: NOW });
      expect(second).toMatchObject({ hostname, account_id: other.accountId });
      expect(second?.id).not.toBe(first?.id);
      expect(await store().addDomain({ hostname, accountId, now: NOW })).toBeUndefined();
      const redirect = await store().findRedirect(code);
      expect(redirect?.is_active).toBe(false);
      expect(redirect?.hostname).not.toBe(hostname);
      expect(await store().findLink(code)).toMatchObject({ is_active: false, short_url });
      expect(await store().setLinkActive(code, true)).toMatchObject({
        is_active: false,
        short_url,
      });
      // A job of the first account that was accepted before still names its links as they were asked for.
      await finishJob(store(), jobId);
      const job = await store().findJob(accountId, jobId);
      const urls = (await resultsOf(store(), job)).map((item) => new URL(item.short_url ?? ''));
      expect(
        urls.every((url) => url.host === hostname && !url.pathname.slice(1).includes('/')),
      ).toBe(true);
      const own = await createLink(other, { domain_id: second?.id });
      expect(await store().findRedirect(own.code)).toMatchObject({ is_active: true, hostname });
    });

    test('each account that had a hostname gets its own links back, whoever had it since', async () => {
      const callers = [await newCaller(store()), await newCaller(store())];
      const add = ({ accountId }: { accountId: string }) =>
        store().addDomain({ hostname, accountId, now: NOW });
      const had = [];
      for (const caller of callers) {
        const domain = await add(caller);
        had.push({ caller, domain, ...(await createLink(caller, { domain_id: domain?.id })) });
        await remove(true);
      }
      for (const { caller, domain, code } of [...had, ...had]) {
        expect(await add(caller)).toEqual(domain);
        expect(await store().listDomains()).toEqual([domain]);
        for (const other of had) {
          const redirect = await store().findRedirect(other.code);
          const isBack = other.code === code;
          expect([redirect?.is_active, redirect?.hostname === hostname]).toEqual([isBack, isBack]);
        }
        await remove(true);
      }
    });

    test('a job that was accepted before still completes', async () => {
      const caller = await newCaller(store());
      const { accountId } = caller;
      const domain = await store().addDomain({ hostname, accountId, now: NOW });
      const input = Array.from({ length: 101 }, (_, n) =>
        newLink(n, { domain_id: domain?.id ?? '' }),
      );
      const outcome = await store().createJob({ caller, input: toJobInput(input), now: NOW });
      if (!outcome.ok) throw new Error(outcome.reason);
      await remove(true);
      await finishJob(store(), outcome.value.job_id);
      const job = await store().findJob(accountId, outcome.value.job_id);
      const [first] = await resultsOf(store(), job);
      expect(await store().findRedirect(first?.code ?? '')).toMatchObject({ is_active: false });
    });
  });

  describe('links of an account', () => {
    test('are listed newest first, in pages, and no one else’s', async () => {
      const caller = await newCaller(store());
      const { accountId } = caller;
      await createLink(await newCaller(store()));
      const codes: string[] = [];
      for (let n = 0; n < 7; n += 1) codes.unshift((await createLink(caller)).code);
      const pages: string[][] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await store().listLinks({ accountId, limit: 3, cursor });
        pages.push(page.map((link) => link.code));
        if (page.length < 3) break;
        cursor = page.at(-1)?.id;
      }
      expect(pages.map((page) => page.length)).toEqual([3, 3, 1]);
      expect(pages.flat()).toEqual(codes);
    });

    test('are found by code, target URL and title, in upper or lower case, as plain text', async () => {
      const caller = await newCaller(store());
      const { accountId } = caller;
      const one = await createLink(caller, {
        target_url: 'https://Example.com/a_b%20c',
        title: 'Spring "Sale"',
      });
      await createLink(caller, { target_url: 'https://example.org/aXb', title: '' });
      const stranger = await newCaller(store());
      await createLink(stranger, { target_url: one.target_url, title: one.title });
      const find = (query: string) => store().listLinks({ accountId, query, limit: 10 });
      const codes = [one.code, one.code.toLowerCase(), one.code.toUpperCase()];
      for (const query of ['example.COM', 'a_b%', 'spring "s', ...codes]) {
        expect(await find(query), query).toEqual([one]);
      }
      expect(await find('example')).toHaveLength(2);
      for (const query of ['a.b', "'; --", '\\', 'nothing']) expect(await find(query)).toEqual([]);
    });

    test('a batch and a job are among them', async () => {
      const caller = await newCaller(store());
      await finishJob(store(), await newJob(store(), caller, 101));
      const { accountId } = caller;
      expect(await store().listLinks({ accountId, limit: 200 })).toHaveLength(101);
    });
  });
}
