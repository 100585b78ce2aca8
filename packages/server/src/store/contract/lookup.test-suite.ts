import { expect, test } from 'vitest';
import type { LookupTarget } from '../../domain/validate-link.ts';
import { targetNumber } from '../links.ts';
import type { Caller, NewLink, Store } from '../store.ts';
import { finishJob, NOW, newCaller, newJob, newLink, newLinks } from './fixtures.test-suite.ts';
import type { UseStore } from './use-store.test-suite.ts';

const create = async (store: Store, caller: Caller, fields: Partial<NewLink> = {}) => {
  const outcome = await store.createLink({ caller, input: newLink(1, fields), now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.value;
};

const asked = (n: number, fields: Partial<LookupTarget> = {}): LookupTarget => ({
  target_url: newLink(n).target_url,
  domain_id: null,
  ...fields,
});

export function testLookup(useStore: UseStore): void {
  const store = useStore();

  test('links are found by target and by code, whole, in the order asked, each time they are asked for', async () => {
    const caller = await newCaller(store());
    const first = await create(store(), caller, { title: 'Ü', tags: ['a'], redirect_type: 307 });
    const second = await create(store(), caller, { target_url: 'https://example.com/b' });
    const found = await store().findLinks(
      caller.accountId,
      [
        asked(0, { target_url: 'https://example.com/b' }),
        { code: first.code },
        asked(1),
        asked(9),
        { code: '' },
        asked(1),
      ],
      21,
    );
    expect(found).toEqual([[second], [first], [first], [], [], [first]]);
  });

  test('a target is found exactly as it was sent', async () => {
    const caller = await newCaller(store());
    const spellings = [
      'https://example.com',
      'https://example.com/',
      'https://EXAMPLE.com/',
      'https://example.com/ü',
    ];
    const input = spellings.map((target_url) => newLink(0, { target_url }));
    await store().createBatch({ caller, input, now: NOW });
    const entries = spellings.map((target_url) => asked(0, { target_url }));
    const found = await store().findLinks(caller.accountId, entries, 21);
    expect(found.map((links) => links.map((link) => link.target_url))).toEqual(
      spellings.map((target_url) => [target_url]),
    );
  });

  test('many links of many targets are found, each entry its own, oldest first, beside one that has very many', async () => {
    const caller = await newCaller(store());
    const input = Array.from({ length: 900 }, (_, n) => newLink(n < 300 ? n % 60 : 0));
    for (let start = 0; start < 900; start += 100) {
      await store().createBatch({ caller, input: input.slice(start, start + 100), now: NOW });
    }
    const entries = Array.from({ length: 61 }, (_, n) => asked(60 - n));
    const found = await store().findLinks(caller.accountId, entries, 21);
    expect(found.map((links) => links.length)).toEqual([0, ...Array(59).fill(5), 21]);
    for (const [n, links] of found.entries()) {
      expect(links.filter((link) => link.target_url !== entries[n]?.target_url)).toEqual([]);
      expect(links.map(({ id }) => id)).toEqual(links.map(({ id }) => id).toSorted());
    }
  });

  test('links of one target are oldest first, and `after` continues behind any id', async () => {
    const caller = await newCaller(store());
    for (let n = 0; n < 3; n += 1) {
      const input = Array.from({ length: 10 }, () => newLink(1));
      await store().createBatch({ caller, input, now: NOW });
    }
    await create(store(), caller, { target_url: 'https://example.com/other' });
    const find = async (after: string | undefined, most: number) =>
      (await store().findLinks(caller.accountId, [asked(1, { after })], most))[0] ?? [];
    const all = await find(undefined, 50);
    expect(all).toHaveLength(30);
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted());
    const ends = [all[6], all[13], all[29]].map((link) => link?.id ?? '');
    expect(await find(undefined, 7)).toEqual(all.slice(0, 7));
    expect(await find(ends[0], 7)).toEqual(all.slice(7, 14));
    expect(await find(ends[1], 50)).toEqual(all.slice(14));
    expect(await find(ends[2], 50)).toEqual([]);
    expect(await find('00000000-0000-0000-0000-000000000000', 50)).toEqual(all);
    expect(await find('ffffffff-ffff-ffff-ffff-ffffffffffff', 50)).toEqual([]);
  });

  test('links of a domain are found on it only, and those of none on the default domain only', async () => {
    const caller = await newCaller(store());
    const add = { accountId: caller.accountId, now: NOW };
    const domain = await store().addDomain({ ...add, hostname: 'go.example' });
    const domain_id = domain?.id ?? '';
    const plain = await create(store(), caller);
    const custom = await create(store(), caller, { domain_id });
    const entries = [asked(1), asked(1, { domain_id }), { code: custom.code }];
    expect(await store().findLinks(caller.accountId, entries, 21)).toEqual([
      [plain],
      [custom],
      [custom],
    ]);
  });

  test('links of another account are never found', async () => {
    const [owner, stranger] = [await newCaller(store()), await newCaller(store())];
    const add = { accountId: owner.accountId, now: NOW };
    const domain = await store().addDomain({ ...add, hostname: 'go.example' });
    const domain_id = domain?.id ?? '';
    const { code } = await create(store(), owner);
    await create(store(), owner, { domain_id });
    const entries = [asked(1), asked(1, { domain_id }), { code }];
    expect(await store().findLinks(stranger.accountId, entries, 21)).toEqual([[], [], []]);
    expect(await store().findLinks('acc_none', entries, 21)).toEqual([[], [], []]);
  });

  test('links of another account are not found either where targets of both have one number, beside few or many links', async () => {
    const [owner, stranger] = [await newCaller(store()), await newCaller(store())];
    await create(store(), owner);
    const number = targetNumber({ ...asked(1), account_id: owner.accountId });
    const input = Array.from({ length: 100 }, () => newLink(2));
    for (let links = 100; links <= 600; links += 100) {
      await store().createBatch({ caller: stranger, input, now: NOW });
      const find = ({ accountId }: Caller) =>
        store().findLinks(accountId, [asked(1, { number }), asked(2)], 21);
      expect((await find(owner)).map((found) => found.length)).toEqual([1, 0]);
      expect((await find(stranger)).map((found) => found.length)).toEqual([0, 21]);
    }
  });

  test('a link that is switched off is found, with its clicks', async () => {
    const caller = await newCaller(store());
    const { code } = await create(store(), caller);
    await store().setLinkActive(code, false);
    await store().addClicks(new Map([[code, 3]]));
    const found = await store().findLinks(caller.accountId, [asked(1), { code }], 21);
    const link = expect.objectContaining({ code, is_active: false, click_count: 3 });
    expect(found).toEqual([[link], [link]]);
  });

  test('every acknowledged create is found, of single links, batches and jobs, while others are made', async () => {
    const caller = await newCaller(store());
    const busy = Promise.all(Array.from({ length: 30 }, () => create(store(), caller)));
    await create(store(), caller, { target_url: 'https://example.com/single' });
    await store().createBatch({ caller, input: newLinks(100), now: NOW });
    await finishJob(store(), await newJob(store(), caller, 1_001));
    const entries = [
      asked(0, { target_url: 'https://example.com/single' }),
      asked(99),
      asked(1_000),
    ];
    const found = await store().findLinks(caller.accountId, entries, 21);
    expect(found.map((links) => links.length)).toEqual([1, 2, 1]);
    await busy;
    expect((await store().findLinks(caller.accountId, [asked(1)], 50))[0]).toHaveLength(32);
  });

  test('the unfinished jobs of an account are its own', async () => {
    const [caller, other] = [await newCaller(store()), await newCaller(store())];
    const [first, second] = [
      await newJob(store(), caller, 101),
      await newJob(store(), caller, 101),
    ];
    await newJob(store(), other, 101);
    expect((await store().unfinishedJobs(caller.accountId)).toSorted()).toEqual(
      [first, second].toSorted(),
    );
    await finishJob(store(), first);
    expect(await store().unfinishedJobs(caller.accountId)).toEqual([second]);
  });
}
