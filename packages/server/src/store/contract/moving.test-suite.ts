import { describe, expect, test } from 'vitest';
import { CODE, uuidOf } from '../../domain/ids.ts';
import { ANY_DOMAIN, type ExportedLink, type ImportedLink } from '../operator-store.ts';
import type { Store } from '../store.ts';
import { linksUsed, NOW, newCaller, newLink } from './fixtures.test-suite.ts';
import type { UseStore } from './use-store.test-suite.ts';

/** A link that has the address `path` on the default domain. */
export function imported(path: string, fields: Partial<ImportedLink> = {}): ImportedLink {
  return {
    id: uuidOf(NOW - 1_000),
    domain_id: null,
    target_url: `https://example.com${path}`,
    title: 'Moved "here"',
    redirect_type: 301,
    is_active: true,
    tags: ['a', 'b'],
    click_count: 7,
    created_at: NOW - 1_000,
    aliases: [{ domain_id: '', path }],
    ...fields,
  };
}

async function createLink(store: Store, fields = {}) {
  const caller = await newCaller(store);
  const created = await store.createLink({ caller, input: newLink(1, fields), now: NOW });
  if (!created.ok) throw new Error(created.reason);
  return { caller, link: created.value };
}

/** What is to be known of the link behind an alias. */
async function behind(store: Store, address: string) {
  const { code = '' } = (await store.findRedirect(address)) ?? {};
  return store.findLink(code);
}

export function testMoving(useStore: UseStore): void {
  const store = useStore();

  describe('corrections', () => {
    const by = 'ann';

    test('change target and title, and are kept with what was before', async () => {
      const { link } = await createLink(store(), { title: 'Old "title"' });
      const { link: other } = await createLink(store());
      const { code } = link;
      const { latest } = await store().linkChanges(0);
      const target_url = 'https://example.com/right';
      const input = { code, target_url, by, now: NOW };
      const corrected = { ...link, target_url };
      expect(await store().updateLinks([input])).toEqual([
        { ok: true, value: corrected, changed: true },
      ]);
      expect(await store().updateLinks([input])).toMatchObject([{ ok: true, changed: false }]);
      expect(await store().findLink(code)).toEqual(corrected);
      expect(await store().findRedirect(code)).toMatchObject({ target_url });
      expect((await store().linkChanges(latest)).changed).toEqual([code]);
      await store().updateLinks([{ code, title: 'ü\n', by: 'bob', now: NOW + 1 }]);
      expect(await store().findLink(code)).toEqual({ ...corrected, title: 'ü\n' });
      const [old_target, new_target] = [link.target_url, target_url];
      expect(await store().linkHistory(code)).toEqual({
        aliases: [],
        corrections: [
          { at: new Date(NOW).toISOString(), by, old_target, new_target },
          {
            ...{ at: new Date(NOW + 1).toISOString(), by: 'bob' },
            ...{ old_target: new_target, new_target, old_title: 'Old "title"', new_title: 'ü\n' },
          },
        ],
      });
      const nothing = { aliases: [], corrections: [] };
      expect(await store().linkHistory(other.code)).toEqual(nothing);
    });

    test('a corrected link is found by its new target only, on its own domain only', async () => {
      const { caller, link } = await createLink(store());
      const { accountId } = caller;
      const domain = await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
      const input = newLink(1, { domain_id: domain?.id ?? '' });
      const created = await store().createLink({ caller, input, now: NOW });
      if (!created.ok) throw new Error(created.reason);
      const target_url = 'https://example.com/right';
      const links = [link, created.value];
      await store().updateLinks(links.map(({ code }) => ({ code, target_url, by, now: NOW })));
      const ask = (target: string, domain_id: string | null) =>
        store().findLinks(accountId, [{ target_url: target, domain_id }], 5);
      // Each by itself: what is read for one entry of a look-up may be what another one asks for.
      for (const [at, domain_id] of [null, input.domain_id].entries()) {
        expect(await ask(target_url, domain_id)).toEqual([[{ ...links[at], target_url }]]);
        expect(await ask(link.target_url, domain_id)).toEqual([[]]);
      }
    });

    test('are made together, or none of them', async () => {
      const made = [await createLink(store()), await createLink(store())];
      const codes = made.map(({ link }) => link.code);
      const before = made.map(({ link }) => link.target_url);
      const all = (name: string, order = codes) =>
        order.map((code) => {
          const ifTarget = before[codes.indexOf(code)];
          return {
            code,
            target_url: `https://example.com/${name}/${code}`,
            ifTarget,
            by,
            now: NOW,
          };
        });
      const now = async () => {
        const links = await Promise.all(codes.map((code) => store().findLink(code)));
        return links.map((link) => link?.target_url);
      };
      const [other, ...rest] = all('x');
      const elsewhere = { ...other, ifTarget: 'https://example.com/no' } as (typeof rest)[0];
      expect(await store().updateLinks([...rest, elsewhere])).toEqual([
        expect.objectContaining({ ok: true }),
        { ok: false, reason: 'other_target', target_url: before[0] },
      ]);
      expect(await now()).toEqual(before);
      // Both say what each link shall lead to, in another order: one of them is made, and all of it.
      const outcomes = await Promise.all([
        store().updateLinks(all('one')),
        store().updateLinks(all('two', codes.toReversed())),
      ]);
      const isMade = outcomes.map((outcome) => outcome.every(({ ok }) => ok));
      expect(isMade.toSorted()).toEqual([false, true]);
      const name = isMade[0] ? 'one' : 'two';
      expect(await now()).toEqual(all(name).map(({ target_url }) => target_url));
      const histories = codes.map((code) => store().linkHistory(code));
      for (const { corrections } of await Promise.all(histories)) {
        expect(corrections).toHaveLength(1);
      }
    });

    test('of simultaneous ones, all are kept, in a chain; with a condition, one is carried out', async () => {
      const { link } = await createLink(store());
      const { code, target_url: ifTarget } = link;
      const targets = Array.from({ length: 8 }, (_, n) => `https://example.com/new/${n}`);
      const correct = (condition: object) =>
        Promise.all(
          targets.map((target_url) =>
            store().updateLinks([{ code, target_url, by, now: NOW, ...condition }]),
          ),
        );
      const conditional = (await correct({ ifTarget })).flat();
      expect(conditional.filter(({ ok }) => ok)).toHaveLength(1);
      const { target_url: first } = (await store().findLink(code)) ?? {};
      expect(conditional.find(({ ok }) => !ok)).toEqual({
        ...{ ok: false, reason: 'other_target', target_url: first },
      });
      await correct({});
      const { corrections } = await store().linkHistory(code);
      expect(corrections[0]).toMatchObject({ old_target: ifTarget, new_target: first });
      for (const [n, { old_target }] of corrections.entries()) {
        if (n > 0) expect(old_target).toBe(corrections[n - 1]?.new_target);
      }
      const { target_url: last } = (await store().findLink(code)) ?? {};
      expect(corrections.at(-1)?.new_target).toBe(last);
      expect(corrections.length).toBeGreaterThanOrEqual(targets.length);
    });

    test('are compared with the links of each account that they are of', async () => {
      const [one, other] = [await createLink(store()), await createLink(store())];
      await store().createLink({ caller: one.caller, input: newLink(2), now: NOW });
      const counts = await store().countLinks([one.link.code, other.link.code, 'Xk3pQ9z']);
      expect(counts).toEqual(
        new Map([
          [one.caller.accountId, { some: 1, all: 2 }],
          [other.caller.accountId, { some: 1, all: 1 }],
        ]),
      );
    });

    test('of an unknown code there is none', async () => {
      const input = { code: 'zzzzzzz', target_url: 'https://example.com/', by, now: NOW };
      expect(await store().updateLinks([input])).toEqual([{ ok: false, reason: 'unknown' }]);
      expect(await store().linkHistory('zzzzzzz')).toEqual({ aliases: [], corrections: [] });
    });
  });

  describe('links from elsewhere', () => {
    test('keep what they bring, and are found by each alias, byte by byte', async () => {
      const stranger = await newCaller(store());
      const caller = await newCaller(store(), { links: 1 });
      const { accountId } = caller;
      const domain = await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
      const domain_id = domain?.id ?? '';
      const aliases = [
        { domain_id, path: '/%F0%9F%98%80' },
        { domain_id, path: '/a/b' },
        { domain_id: '', path: '/Sale' },
      ];
      const link = imported('/x', { domain_id, aliases, is_active: false });
      const other = imported('/sale', { tags: [], title: '', click_count: 1 });
      const input = { accountId, links: [link, other] };
      const created = [{ state: 'created' }, { state: 'created' }];
      expect(await store().checkImport(input)).toEqual(created);
      expect(await linksUsed(store(), caller)).toBe(0);
      expect(await store().importLinks(input)).toEqual(created);
      // The plan is not asked, but the total is right.
      expect(await linksUsed(store(), caller)).toBe(2);
      expect(await linksUsed(store(), stranger)).toBe(0);

      const found = await behind(store(), 'go.example/a/b');
      const { id, target_url, title, tags } = link;
      expect(found).toEqual({
        ...{ id, code: expect.any(String), short_url: `https://go.example/${found?.code}` },
        ...{ target_url, title, redirect_type: 301, is_active: false, click_count: 7, tags },
        created_at: new Date(NOW - 1_000).toISOString(),
      });
      expect(await behind(store(), 'go.example/%F0%9F%98%80')).toEqual(found);
      expect(await behind(store(), '/Sale')).toEqual(found);
      const { target_url: sale } = other;
      expect(await behind(store(), '/sale')).toMatchObject({ target_url: sale, click_count: 1 });
      for (const unknown of ['go.example/Sale', '/a/b', 'go.example/A/b', '/sale/', 'x.example/']) {
        expect(await store().findRedirect(unknown)).toBeUndefined();
      }
      expect(await store().linkHistory(found?.code ?? '')).toMatchObject({
        aliases: expect.arrayContaining([
          'https://go.example/%F0%9F%98%80',
          'https://go.example/a/b',
          'https://sho.rt/Sale',
        ]),
      });
      const { code = '' } = (await behind(store(), '/sale')) ?? {};
      expect((await store().linkHistory(code)).aliases).toEqual(['https://sho.rt/sale']);
      const by = [{ target_url, domain_id }];
      expect(await store().findLinks(accountId, by, 5)).toEqual([[found]]);
      await store().addClicks(new Map([[found?.code ?? '', 3]]));
      expect(await behind(store(), '/Sale')).toMatchObject({ click_count: 10 });
    });

    test('are among the most clicked links of their account, with the clicks that they bring', async () => {
      const { accountId } = await newCaller(store());
      const links = Array.from({ length: 120 }, (_, n) =>
        imported(`/${n}`, { click_count: (n * 7) % 120 }),
      );
      await store().importLinks({ accountId, links: links.slice(0, 90) });
      await store().importLinks({ accountId, links: links.slice(90) });
      const { top_links = [] } = await store().usage(accountId, NOW);
      const clicks = top_links.map(({ click_count }) => click_count);
      expect(clicks).toEqual(Array.from({ length: 10 }, (_, n) => 119 - n));
    });

    test('again change nothing, also once they were corrected; further aliases are added', async () => {
      const caller = await newCaller(store());
      const { accountId } = caller;
      const link = imported('/one');
      const again = { accountId, links: [link, link] };
      const [created, exists] = [{ state: 'created' }, { state: 'exists' }];
      expect(await store().importLinks(again)).toEqual([created, exists]);
      const { code = '' } = (await store().findRedirect('/one')) ?? {};
      const target_url = 'https://example.com/right';
      await store().updateLinks([{ code, target_url, by: 'ann', now: NOW }]);
      const before = await store().findLink(code);
      expect(await store().importLinks(again)).toEqual([exists, exists]);
      const aliases = [...link.aliases, { domain_id: '', path: '/two' }];
      const more = { accountId, links: [{ ...link, aliases }] };
      expect(await store().importLinks(more)).toEqual([{ state: 'extended' }]);
      expect(await behind(store(), '/two')).toEqual(before);
      expect(await store().findLink(code)).toEqual(before);
      expect(await linksUsed(store(), caller)).toBe(1);
    });

    test('may come after one another in one step, each with more addresses of one link', async () => {
      const { accountId } = await newCaller(store());
      const paths = ['/one', '/two', '/three'];
      const links = paths.map((_, last) => {
        const aliases = paths.slice(0, last + 1).map((path) => ({ domain_id: '', path }));
        return imported('/one', { aliases });
      });
      const states = [{ state: 'created' }, { state: 'extended' }, { state: 'extended' }];
      expect(await store().importLinks({ accountId, links })).toEqual(states);
      const [one, ...others] = await Promise.all(paths.map((path) => behind(store(), path)));
      expect(one?.code).toMatch(CODE);
      expect(others).toEqual([one, one]);
    });

    test('never take an address that leads elsewhere, or is that of another account', async () => {
      const { caller, link } = await createLink(store());
      const { accountId } = caller;
      await store().importLinks({ accountId, links: [imported('/one')] });
      // That another link was corrected makes no difference.
      const other = await createLink(store(), { target_url: 'https://example.com/else' });
      const correction = { code: other.link.code, target_url: 'https://example.com/right' };
      await store().updateLinks([{ ...correction, by: 'ann', now: NOW }]);
      const domain = await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
      const conflict = (path: string, target_url: string) => ({
        ...{ state: 'conflict', address: { domain_id: '', path }, target_url },
      });
      const links = [
        imported('/one', { target_url: 'https://example.com/else' }),
        imported(`/${link.code}`),
        imported('/new', { aliases: [{ domain_id: domain?.id ?? '', path: '/one' }] }),
      ];
      const expected = [
        conflict('/one', 'https://example.com/one'),
        conflict(`/${link.code}`, link.target_url),
        { state: 'created' },
      ];
      expect(await store().checkImport({ accountId, links })).toEqual(expected);
      expect(await store().importLinks({ accountId, links })).toEqual(expected);
      const stranger = await newCaller(store());
      const input = { accountId: stranger.accountId, links: [imported('/one')] };
      expect(await store().importLinks(input)).toEqual([{ ...expected[0], account_id: accountId }]);
    });

    test('with a code of their own keep it', async () => {
      const { accountId } = await newCaller(store());
      const link = imported('/old', { code: 'Xk3pQ9z' });
      const input = { accountId, links: [link] };
      expect(await store().importLinks(input)).toEqual([{ state: 'created' }]);
      expect(await store().importLinks(input)).toEqual([{ state: 'exists' }]);
      expect((await behind(store(), '/old'))?.code).toBe('Xk3pQ9z');
      // Codes are unique over all domains.
      const domain = await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
      const elsewhere = { domain_id: domain?.id ?? null, aliases: [] };
      const other = imported('/else', { code: 'Xk3pQ9z', ...elsewhere });
      expect(await store().importLinks({ accountId, links: [other] })).toEqual([
        {
          ...{ state: 'conflict', target_url: link.target_url },
          address: { domain_id: ANY_DOMAIN, path: '/Xk3pQ9z' },
        },
      ]);
    });

    test('follow their account, their domain and each change of the link', async () => {
      const { accountId } = await newCaller(store());
      const domain = await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
      const domain_id = domain?.id ?? '';
      const aliases = ['', domain_id].map((of) => ({ domain_id: of, path: '/a' }));
      await store().importLinks({ accountId, links: [imported('/a', { domain_id, aliases })] });
      const redirect = () => store().findRedirect('go.example/a');
      const ofDefault = () => store().findRedirect('/a');
      expect((await ofDefault())?.owners).toContain(domain_id);
      const { code = '' } = (await redirect()) ?? {};
      expect((await redirect())?.owners).toEqual(
        expect.arrayContaining([accountId, domain_id, code]),
      );
      expect(await redirect()).toMatchObject({ is_active: true, hostname: 'go.example' });
      await store().setLinkActive(code, false);
      expect(await redirect()).toMatchObject({ is_active: false });
      await store().setLinkActive(code, true);
      const removal = { hostname: 'go.example', force: false, now: NOW };
      expect(await store().removeDomain(removal)).toMatchObject({ reason: 'has_links' });
      await store().removeDomain({ ...removal, force: true });
      expect(await redirect()).toMatchObject({ is_active: false });
      expect(await ofDefault()).toMatchObject({ is_active: false, hostname: null });
      const other = await newCaller(store());
      await store().addDomain({
        ...{ hostname: 'go.example', accountId: other.accountId, now: NOW },
      });
      expect(await redirect()).toBeUndefined();
    });

    test('keep their domain from being removed without force, also one that only has aliases, and no other', async () => {
      const { accountId } = await newCaller(store());
      const hostnames = ['go.example', 'links.example', 'empty.example'];
      const ids: string[] = [];
      for (const hostname of hostnames) {
        ids.push((await store().addDomain({ hostname, accountId, now: NOW }))?.id ?? '');
      }
      const [domain_id = '', other = ''] = ids;
      const aliases = [{ domain_id, path: '/a' }];
      const links = [imported('/a', { aliases }), imported('/b', { domain_id: other })];
      await store().importLinks({ accountId, links });
      const uses = [...hostnames, 'no.example'].map((hostname) => store().domainUse(hostname));
      const nothing = { links: 0, addresses: 0 };
      expect(await Promise.all(uses)).toEqual([
        { links: 0, addresses: 1 },
        { links: 1, addresses: 0 },
        nothing,
        nothing,
      ]);
      expect((await store().findRedirect('go.example/a'))?.owners).toContain(domain_id);
      const removal = { hostname: 'go.example', force: false, now: NOW };
      expect(await store().removeDomain(removal)).toEqual({ ok: false, reason: 'has_links' });
      const empty = { ...removal, hostname: 'empty.example' };
      expect(await store().removeDomain(empty)).toMatchObject({ ok: true });
      expect(await store().removeDomain({ ...removal, force: true })).toMatchObject({ ok: true });
      expect((await store().findRedirect('go.example/a'))?.is_active).toBe(false);
      await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
      expect((await store().findRedirect('go.example/a'))?.is_active).toBe(true);
    });

    test('are never made on a domain that was removed, nor get an address there; those that are there exist', async () => {
      const { accountId } = await newCaller(store());
      const domain = await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
      const domain_id = domain?.id ?? '';
      const there = imported('/a', {
        code: 'Xk3pQ9z',
        domain_id,
        aliases: [{ domain_id, path: '/a' }],
      });
      const here = imported('/b');
      await store().importLinks({ accountId, links: [there, here] });
      await store().removeDomain({ hostname: 'go.example', force: true, now: NOW });
      const aliases = [...here.aliases, { domain_id, path: '/b' }];
      const links = [there, imported('/c', { domain_id }), { ...here, aliases }, imported('/d')];
      const removed = { state: 'removed', domain_id };
      const input = { accountId, links };
      const outcomes = [{ state: 'exists' }, removed, removed, { state: 'created' }];
      expect(await store().checkImport(input)).toEqual(outcomes);
      expect(await store().importLinks(input)).toEqual(outcomes);
    });

    test('in steps, each with codes of its own part of all codes', async () => {
      const { accountId } = await newCaller(store());
      const of = 4;
      const codes: string[][] = [];
      for (let number = 0; number < of; number += 1) {
        const links = Array.from({ length: 200 }, (_, n) => imported(`/${number}/${n}`));
        const step = { number, of };
        await store().importLinks({ accountId, links, step });
        const found = links.map(({ aliases }) => store().findRedirect(aliases[0]?.path ?? ''));
        codes.push((await Promise.all(found)).map((redirect) => redirect?.code ?? '').sort());
      }
      expect(codes.flat()).toEqual(codes.flat().toSorted());
      expect(new Set(codes.flat()).size).toBe(of * 200);
      for (const code of codes.flat()) expect(code).toMatch(CODE);
      // Each part is used from its beginning to its end: of 57 first digits, four parts have 14 or 15 each.
      for (const part of codes) {
        expect(new Set(part.map((code) => code[0])).size).toBeGreaterThan(12);
      }
    });

    test('with very many addresses take no longer than as many links', async () => {
      const { accountId } = await newCaller(store());
      const aliases = Array.from({ length: 40_000 }, (_, n) => ({
        domain_id: '',
        path: `/n/${n}`,
      }));
      const timeOf = async (links: ImportedLink[]) => {
        const startedAt = performance.now();
        await store().checkImport({ accountId, links });
        return performance.now() - startedAt;
      };
      const many = await timeOf(aliases.map((alias) => imported('/n', { aliases: [alias] })));
      expect(await timeOf([imported('/n', { aliases })])).toBeLessThan(3 * many);
    });

    test('by the thousand, with a code each', async () => {
      const caller = await newCaller(store());
      const links = Array.from({ length: 1_000 }, (_, n) => imported(`/n/${n}`));
      const outcomes = await store().importLinks({ accountId: caller.accountId, links });
      expect(outcomes.filter(({ state }) => state === 'created')).toHaveLength(1_000);
      const codes = new Set<string | undefined>();
      for (const n of [0, 127, 128, 998, 999]) {
        codes.add((await store().findRedirect(`/n/${n}`))?.code);
      }
      expect(codes.size).toBe(5);
      expect(await linksUsed(store(), caller)).toBe(1_000);
    });
  });

  test('a link is imported with its code where an address on another domain looks like it', async () => {
    const { accountId } = await newCaller(store());
    const domain = await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
    const aliases = [{ domain_id: domain?.id ?? '', path: '/Xk3pQ9z' }];
    const first = imported('/first', { domain_id: domain?.id ?? null, aliases });
    await store().importLinks({ accountId, links: [first] });
    const links = [imported('/second', { code: 'Xk3pQ9z' })];
    expect(await store().importLinks({ accountId, links })).toEqual([{ state: 'created' }]);
  });

  describe('an export', () => {
    const all = async (accountId?: string) => {
      const links: ExportedLink[] = [];
      await store().exportLinks(accountId, async (some) => void links.push(...some));
      return links;
    };

    test('has every link once, in the order of codes, with its aliases and its own state', async () => {
      const { accountId } = await newCaller(store());
      const domain = await store().addDomain({ hostname: 'go.example', accountId, now: NOW });
      const domain_id = domain?.id ?? '';
      const aliases = [
        { domain_id, path: '/b/%C3%A9' },
        { domain_id: '', path: '/a' },
      ];
      const link = imported('/a', { domain_id, aliases, is_active: false, code: 'Xk3pQ9z' });
      await store().importLinks({ accountId, links: [link] });
      const { caller, link: other } = await createLink(store());
      for (const id of [accountId, caller.accountId]) {
        await store().setAccountDisabled({ id, disabled: true, now: NOW });
      }
      const { id, target_url, title, tags } = link;
      const exported: ExportedLink = {
        ...{ id, code: 'Xk3pQ9z', short_url: 'https://go.example/Xk3pQ9z', target_url, title },
        ...{ redirect_type: 301, is_active: false, click_count: 7, tags: [...tags] },
        created_at: new Date(NOW - 1_000).toISOString(),
        ...{ account_id: accountId, domain: 'go.example' },
        aliases: ['https://go.example/b/%C3%A9', 'https://sho.rt/a'],
      };
      expect(await all(accountId)).toEqual([exported]);
      const both = await all();
      expect(both.map(({ code }) => code)).toEqual(['Xk3pQ9z', other.code].toSorted());
      expect(both).toContainEqual({
        ...{ ...other, account_id: expect.any(String), domain: '', aliases: [] },
      });
      expect(await all('acc_none')).toEqual([]);
    });

    test('is of one moment, whatever is written while it is read', async () => {
      const { accountId } = await newCaller(store());
      const links = Array.from({ length: 1_500 }, (_, n) => imported(`/n/${n}`));
      await store().importLinks({ accountId, links });
      const seen: ExportedLink[] = [];
      await store().exportLinks(accountId, async (some) => {
        seen.push(...some);
        if (seen.length !== 1_000) return;
        const listed = await store().listLinks({ accountId, limit: 1_000 });
        await store().addClicks(new Map(listed.map(({ code }) => [code, 1])));
        await store().importLinks({ accountId, links: [imported('/late', { code: 'zzzzzzz' })] });
      });
      expect(new Set(seen.map(({ code }) => code)).size).toBe(1_500);
      expect(new Set(seen.map(({ click_count }) => click_count))).toEqual(new Set([7]));
    });

    test('ends with the error of whoever takes the links, such as one that has read enough', async () => {
      await createLink(store());
      const error = Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' });
      await expect(store().exportLinks(undefined, () => Promise.reject(error))).rejects.toBe(error);
      expect(store().isHealthy()).toBe(true);
    });
  });
}
