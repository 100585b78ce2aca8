import type { Link } from '@shortlink/sdk/wire';
import { expect, test } from 'vitest';
import type { Store } from '../store.ts';
import { NOW, newCaller, newLink, newLinks } from './fixtures.test-suite.ts';
import { imported } from './moving.test-suite.ts';
import type { UseStore } from './use-store.test-suite.ts';

async function createLink(store: Store): Promise<Link> {
  const caller = await newCaller(store);
  const outcome = await store.createLink({ caller, input: newLink(7), now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.value;
}

export function testRedirects(useStore: UseStore): void {
  const store = useStore();

  test('a code leads to its target', async () => {
    const { code } = await createLink(store());
    expect(await store().findRedirect(code)).toEqual({
      target_url: 'https://example.com/7',
      redirect_type: 302,
      is_active: true,
      hostname: null,
      owners: [expect.stringMatching(/^acc_/)],
    });
  });

  test('a text with U+0000 is found nowhere', async () => {
    const { accountId } = await newCaller(store());
    expect(await store().findRedirect('a\0b')).toBeUndefined();
    expect(await store().findRedirect('go.example/a\0b')).toBeUndefined();
    expect(await store().findJob(accountId, 'a\0b')).toBeUndefined();
    expect(await store().listLinks({ accountId, query: 'a\0b', limit: 1 })).toEqual([]);
  });

  test('codes are case-sensitive, and unknown ones lead nowhere', async () => {
    const { code } = await createLink(store());
    const otherCase = code === code.toUpperCase() ? code.toLowerCase() : code.toUpperCase();
    for (const unknown of [otherCase, `${code}x`, code.slice(1), '', '%']) {
      expect(await store().findRedirect(unknown)).toBeUndefined();
      expect(await store().findLink(unknown)).toBeUndefined();
      expect(await store().setLinkActive(unknown, false)).toBeUndefined();
    }
  });

  test('a link can be disabled and enabled', async () => {
    const link = await createLink(store());
    const disabled = { ...link, is_active: false };
    expect(await store().setLinkActive(link.code, false)).toEqual(disabled);
    expect(await store().setLinkActive(link.code, false)).toEqual(disabled);
    expect(await store().findLink(link.code)).toEqual(disabled);
    expect(await store().findRedirect(link.code)).toMatchObject({ is_active: false });
    expect(await store().setLinkActive(link.code, true)).toEqual(link);
  });

  test('changes of links, domains and accounts are listed in order; creates and clicks are not among them', async () => {
    const caller = await newCaller(store());
    const { accountId } = caller;
    const { latest: start } = await store().linkChanges(0);
    const batch = await store().createBatch({ caller, input: newLinks(2), now: NOW });
    if (!batch.ok) throw new Error(batch.reason);
    const [first = '', second = ''] = batch.value.map((item) => item.code ?? '');
    await store().addClicks(new Map([[first, 1]]));
    expect(await store().linkChanges(start)).toEqual({ latest: start, changed: [] });

    await store().setLinkActive(first, false);
    await store().setLinkActive(second, false);
    const changes = await store().linkChanges(start);
    expect(changes.changed).toEqual([first, second]);
    await store().setLinkActive(first, true);
    const newest = await store().linkChanges(changes.latest);
    expect(newest.changed).toEqual([first]);

    const domain = await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
    const added = await store().linkChanges(newest.latest);
    expect(added.changed).toEqual([domain?.id]);
    await store().removeDomain({ hostname: 'go.example', force: false, now: NOW });
    const removed = await store().linkChanges(added.latest);
    expect(removed.changed).toEqual([domain?.id]);
    const input = { ...newLink(), domain_id: domain?.id ?? null };
    const created = await store().createLink({ caller, input, now: NOW });
    const redirect = await store().findRedirect(created.ok ? created.value.code : '');
    expect(redirect?.owners).toEqual([expect.stringMatching(/^acc_/), domain?.id]);

    await store().setAccountDisabled({ id: accountId, disabled: true, now: NOW });
    const disabled = await store().linkChanges(removed.latest);
    expect(disabled.changed).toEqual([accountId]);
    await store().setAccountDisabled({ id: accountId, disabled: false, now: NOW });
    expect((await store().linkChanges(disabled.latest)).changed).toEqual([accountId]);
  });

  test('after too many missed changes, or on another database, all links count as changed', {
    timeout: 240_000,
  }, async () => {
    const { code } = await createLink(store());
    const { latest } = await store().linkChanges(0);
    for (let n = 0; n < 10; n += 1) {
      const changes = Array.from({ length: 100 }, () => store().setLinkActive(code, n % 2 === 0));
      await Promise.all(changes);
    }
    const { changed, latest: newest } = await store().linkChanges(latest);
    expect(changed).toBe('all');
    expect((await store().linkChanges(newest)).changed).toEqual([]);
    expect((await store().linkChanges(newest + 5)).changed).toBe('all');
  });

  test('clicks add up; unknown codes are ignored', async () => {
    const first = await createLink(store());
    const second = await createLink(store());
    const counts: [string, number][] = [
      [first.code, 3],
      ['Xk3pQ9z', 5],
    ];
    await store().addClicks(new Map(counts));
    await Promise.all(
      Array.from({ length: 10 }, () =>
        store().addClicks(
          new Map([
            [first.code, 1],
            [second.code, 2],
          ]),
        ),
      ),
    );
    await store().addClicks(new Map());
    expect(await store().findLink(first.code)).toMatchObject({ click_count: 13 });
    expect(await store().findLink(second.code)).toMatchObject({ click_count: 20 });
    // Nor do they count once a link gets such a code.
    const { accountId } = await newCaller(store());
    const moved = imported('/x', { code: 'Xk3pQ9z', click_count: 7 });
    await store().importLinks({ accountId, links: [moved] });
    expect(await store().findLink('Xk3pQ9z')).toMatchObject({ click_count: 7 });
  });

  test('a write of clicks that is repeated counts once; the next one of its writer counts, and those of others', async () => {
    const { code } = await createLink(store());
    const add = (writer: string, number: number, clicks: number, now = NOW) =>
      store().addClicks(new Map([[code, clicks]]), { writer, number, now });
    await add('a', 1, 1);
    await add('a', 1, 1);
    await add('b', 1, 10);
    await add('a', 2, 100);
    await add('a', 1, 1);
    await Promise.all([add('b', 2, 1_000), add('b', 2, 1_000)]);
    expect(await store().findLink(code)).toMatchObject({ click_count: 1_111 });

    // What it is recognised by is kept for a week.
    const WEEK_MS = 7 * 86_400_000;
    await store().prune(NOW + WEEK_MS);
    await add('a', 2, 100);
    expect(await store().findLink(code)).toMatchObject({ click_count: 1_111 });
    await store().prune(NOW + WEEK_MS + 1);
    await add('a', 2, 100);
    expect(await store().findLink(code)).toMatchObject({ click_count: 1_211 });
  });

  test('a writer of clicks is recognised for a week after its last write', async () => {
    const { code } = await createLink(store());
    const later = NOW + 7 * 86_400_000;
    const add = (number: number, now: number) =>
      store().addClicks(new Map([[code, 1]]), { writer: 'a', number, now });
    await add(1, NOW);
    await add(2, later);
    await store().prune(later + 1);
    await add(2, later);
    expect(await store().findLink(code)).toMatchObject({ click_count: 2 });
  });

  test('the most clicked links of an account, from the most clicked one on, with their clicks of this moment', async () => {
    const caller = await newCaller(store());
    const other = await newCaller(store());
    const codesOf = async (owner: typeof caller) => {
      const batch = await store().createBatch({ caller: owner, input: newLinks(30), now: NOW });
      if (!batch.ok) throw new Error(batch.reason);
      return batch.value.map((item) => item.code ?? '');
    };
    const [codes, others] = [await codesOf(caller), await codesOf(other)];
    const top = async ({ accountId }: typeof caller) =>
      (await store().usage(accountId, NOW)).top_links;
    expect(await top(caller)).toEqual([]);

    // More than are kept, in two writes, and unknown ones.
    const clicks = new Map(codes.map((code, n) => [code, ((n * 7) % 30) + 1]));
    // Another account has links that are clicked more often, also in the same write.
    await store().addClicks(new Map(others.slice(0, 25).map((code, n) => [code, 500 - n])));
    await store().addClicks(new Map([...clicks].slice(0, 17)));
    const more = [...clicks].slice(17).toReversed();
    await store().addClicks(new Map([['unknown', 900], ...more, [others[0] ?? '', 1]]));
    const expected = [...clicks].toSorted((a, b) => b[1] - a[1]).slice(0, 10);
    const shown = (await top(caller)) ?? [];
    expect(shown.map(({ code, click_count }) => [code, click_count])).toEqual(expected);
    const first = await store().findLink(expected[0]?.[0] ?? '');
    const { code, short_url, target_url, title, click_count } = first ?? {};
    expect(shown[0]).toEqual({ code, short_url, target_url, title, click_count });
    expect((await top(other))?.map((link) => link.click_count)).toEqual([
      ...[501, 499, 498, 497, 496, 495, 494, 493, 492, 491],
    ]);

    // One that was never among them rises.
    const [last = ''] = [...clicks].toSorted((a, b) => a[1] - b[1])[0] ?? [];
    await store().addClicks(new Map([[last, 1_000]]));
    await store().addClicks(new Map([[expected[0]?.[0] ?? '', 2_000]]));
    const risen = (await top(caller))?.slice(0, 2);
    expect(risen?.map((link) => link.code)).toEqual([expected[0]?.[0], last]);
    expect(risen?.map((link) => link.click_count)).toEqual([2_030, 1_001]);
  });

  test('a link comes among the most clicked ones with more clicks than the last of them', async () => {
    const caller = await newCaller(store());
    const batch = await store().createBatch({ caller, input: newLinks(21), now: NOW });
    const [late = '', ...codes] = batch.ok ? batch.value.map((item) => item.code ?? '') : [];
    await store().addClicks(new Map(codes.map((code, n) => [code, 2 * n + 1])));
    await store().addClicks(new Map([[late, 30]]));
    const { top_links = [] } = await store().usage(caller.accountId, NOW);
    const clicks = top_links.map(({ click_count }) => click_count);
    expect(clicks).toEqual([39, 37, 35, 33, 31, 30, 29, 27, 25, 23]);
  });

  test('links with as many clicks are shown in the order of their codes', async () => {
    const caller = await newCaller(store());
    const batch = await store().createBatch({ caller, input: newLinks(12), now: NOW });
    const codes = batch.ok ? batch.value.map((item) => item.code ?? '') : [];
    await store().addClicks(new Map(codes.map((code) => [code, 3])));
    const { top_links = [] } = await store().usage(caller.accountId, NOW);
    expect(top_links.map(({ code }) => code)).toEqual(codes.toSorted().slice(0, 10));
  });
}
