import { expect, test } from 'vitest';
import { toJobInput } from '../links.ts';
import { linksUsed, NOW, newCaller, newJob, newLink, newLinks } from './fixtures.test-suite.ts';
import type { UseStore } from './use-store.test-suite.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const CODE = /^[2-9A-HJ-NP-Za-km-z]{7}$/;

export function testCreate(useStore: UseStore): void {
  const store = useStore();

  test('a link is created with every field of the protocol', async () => {
    const caller = await newCaller(store());
    const input = newLink(1, { title: 'Docs', tags: ['a', 'b'], redirect_type: 307 });
    const outcome = await store().createLink({ caller, input, now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    const link = outcome.value;
    expect(outcome.replayed).toBe(false);
    expect(link).toEqual({
      id: expect.stringMatching(UUID_V7),
      code: expect.stringMatching(CODE),
      short_url: `https://sho.rt/${link.code}`,
      target_url: 'https://example.com/1',
      title: 'Docs',
      redirect_type: 307,
      is_active: true,
      click_count: 0,
      tags: ['a', 'b'],
      created_at: '2026-03-10T12:30:15.250Z',
    });
    expect(await store().findLink(link.code)).toEqual(link);
  });

  test('text comes back exactly as it was sent', async () => {
    const caller = await newCaller(store());
    const input = newLink(0, {
      target_url: 'https://例え.jp/ä?q=%20&x=\'";--#é',
      title: 'e\u0301 \u{1f389} \u0001 tab\t "quoted"',
      tags: ['null', '[]', '\u{10ffff}', "'); DROP TABLE links; --"],
    });
    const outcome = await store().createLink({ caller, input, now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    const { target_url, title, tags } = input;
    expect(outcome.value).toMatchObject({ target_url, title, tags });
    expect(await store().findLink(outcome.value.code)).toMatchObject({ target_url, title, tags });
    expect(await store().findRedirect(outcome.value.code)).toMatchObject({ target_url });
  });

  test('a link of a custom domain has its hostname, also beside one of another domain', async () => {
    const caller = await newCaller(store());
    const domain = await store().addDomain({
      hostname: 'go.example:8443',
      accountId: caller.accountId,
      now: NOW,
    });
    const input = newLink(0, { domain_id: domain?.id ?? '' });
    const outcome = await store().createLink({ caller, input, now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    expect(outcome.value.short_url).toBe(`https://go.example:8443/${outcome.value.code}`);
    const redirect = await store().findRedirect(outcome.value.code);
    expect(redirect).toMatchObject({ hostname: 'go.example:8443' });

    const { accountId } = caller;
    const other = await store().addDomain({ hostname: 'to.example', accountId, now: NOW });
    const links = [domain, other].map((one, n) => newLink(n, { domain_id: one?.id ?? '' }));
    const batch = await store().createBatch({ caller, input: links, now: NOW });
    if (!batch.ok) throw new Error(batch.reason);
    const hosts = batch.value.map(({ short_url }) => new URL(short_url ?? '').host);
    expect(hosts).toEqual(['go.example:8443', 'to.example']);
  });

  test('a domain that does not exist creates nothing', async () => {
    const caller = await newCaller(store());
    const input = [newLink(0), newLink(1, { domain_id: 'dom_nobody' })];
    await expect(store().createBatch({ caller, input, now: NOW })).rejects.toThrow('dom_nobody');
    expect(await linksUsed(store(), caller)).toBe(0);
  });

  test('a batch answers in the order of its links', async () => {
    const caller = await newCaller(store());
    const input = newLinks(100);
    const outcome = await store().createBatch({ caller, input, now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    expect(outcome.value.map((item) => item.target_url)).toEqual(
      input.map((link) => link.target_url),
    );
    expect(new Set(outcome.value.map((item) => item.code)).size).toBe(100);
    for (const item of outcome.value) {
      expect(item).toEqual({
        target_url: item.target_url,
        code: expect.stringMatching(CODE),
        short_url: `https://sho.rt/${item.code}`,
      });
      const redirect = await store().findRedirect(item.code ?? '');
      expect(redirect?.target_url).toBe(item.target_url);
    }
  });

  test('the same target can be shortened many times', async () => {
    const caller = await newCaller(store());
    const input = Array.from({ length: 20 }, () => newLink(1));
    const outcome = await store().createBatch({ caller, input, now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    expect(new Set(outcome.value.map((item) => item.code)).size).toBe(20);
  });

  test('of 3L simultaneous creates exactly L take a place', async () => {
    const caller = await newCaller(store(), { links: 30 });
    const outcomes = await Promise.all(
      newLinks(90).map((input) => store().createLink({ caller, input, now: NOW })),
    );
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(30);
    expect(outcomes.find((outcome) => !outcome.ok)).toEqual({
      ok: false,
      reason: 'plan_limit',
      limit: 'links',
      used: 30,
      allowed: 30,
    });
    expect(await linksUsed(store(), caller)).toBe(30);
  });

  test('simultaneous creates around midnight count in the day of each', async () => {
    const caller = await newCaller(store());
    const midnight = Date.UTC(2026, 2, 11);
    await Promise.all(
      [-1, -1, 0, -1, 0].map((ms) =>
        store().createLink({ caller, input: newLink(), now: midnight + ms }),
      ),
    );
    const { history } = await store().usage(caller.accountId, midnight);
    expect(history).toMatchObject([
      { date: '2026-03-10', links: 3 },
      { date: '2026-03-11', links: 2 },
    ]);
  });

  test('simultaneous creates under an old and a new limit have the limit of each', async () => {
    const caller = await newCaller(store(), { links: 1 });
    const changed = { ...caller, limits: { ...caller.limits, links: null } };
    const outcomes = await Promise.all(
      [caller, caller, changed, changed].map((one) =>
        store().createLink({ caller: one, input: newLink(), now: NOW }),
      ),
    );
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, false, true, true]);
  });

  test('a batch that would pass the total of links is refused whole', async () => {
    const caller = await newCaller(store(), { links: 15 });
    await store().createBatch({ caller, input: newLinks(10), now: NOW });
    const refused = await store().createBatch({ caller, input: newLinks(6), now: NOW });
    expect(refused).toMatchObject({ ok: false, limit: 'links', used: 10, allowed: 15 });
    expect(await linksUsed(store(), caller)).toBe(10);
    const fitting = await store().createBatch({ caller, input: newLinks(5), now: NOW });
    expect(fitting).toMatchObject({ ok: true });
  });

  test('two simultaneous batches that fit only one by one do not both pass', async () => {
    const caller = await newCaller(store(), { links: 150 });
    const outcomes = await Promise.all([
      store().createBatch({ caller, input: newLinks(100), now: NOW }),
      store().createBatch({ caller, input: newLinks(100), now: NOW }),
    ]);
    expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1);
    expect(await linksUsed(store(), caller)).toBe(100);
  });

  test('a job takes its quota slots when it is accepted', async () => {
    const caller = await newCaller(store(), { links: 300 });
    await newJob(store(), caller, 200);
    expect(await linksUsed(store(), caller)).toBe(200);
    const refused = await store().createJob({ caller, input: toJobInput(newLinks(101)), now: NOW });
    expect(refused).toMatchObject({ ok: false, limit: 'links', used: 200, allowed: 300 });
    expect(await store().pendingJobs()).toHaveLength(1);
  });

  test('a batch over the size of the plan is refused, as batch and as job', async () => {
    const caller = await newCaller(store(), { batch_size: 5 });
    const request = { caller, input: newLinks(6), now: NOW };
    const refusal = { ok: false, reason: 'plan_limit', limit: 'batch_size', used: 6, allowed: 5 };
    expect(await store().createBatch(request)).toEqual(refusal);
    expect(await store().createJob({ ...request, input: toJobInput(request.input) })).toEqual(
      refusal,
    );
    expect(await linksUsed(store(), caller)).toBe(0);
    expect(await store().createBatch({ ...request, input: newLinks(5) })).toMatchObject({
      ok: true,
    });
  });

  test('refusals by the plan are in the history of the key, links too', async () => {
    const caller = await newCaller(store(), { links: 3, batch_size: 3 });
    await store().createBatch({ caller, input: newLinks(3), now: NOW });
    await store().createBatch({ caller, input: newLinks(4), now: NOW });
    await store().createLink({ caller, input: newLink(), now: NOW });
    const { keys } = await store().usage(caller.accountId, NOW);
    expect(keys[0]?.history).toEqual([{ date: '2026-03-10', requests: 0, refused: 2, links: 3 }]);
  });
}
