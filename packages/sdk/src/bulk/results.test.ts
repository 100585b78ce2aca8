import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { results } from '../wire/batch.ts';
import { reader } from '../wire/shape.ts';
import { entryOf } from './batch-plan.ts';
import type { RecordedResult } from './create-many.ts';
import { alignResults, itemOf } from './results.ts';

const link = (target_url: string) => ({ target_url });
const result = (target_url: string, code: string) => ({
  target_url,
  code,
  short_url: `https://s.example/${code}`,
});

const outcomeOf = (result: RecordedResult | undefined) => {
  return itemOf(entryOf(link('https://a.example/'), 7), result);
};

describe('alignResults', () => {
  it('keeps results that are in order', () => {
    const results = [result('https://a.example/', 'a'), result('https://b.example/', 'b')];
    expect(alignResults([link('https://a.example/'), link('https://b.example/')], results)).toBe(
      results,
    );
  });

  it('finds results that came in another order', () => {
    const links = [link('https://a.example/'), link('https://b.example/')];
    const results = [result('https://b.example/', 'b'), result('https://a.example/', 'a')];
    expect(alignResults(links, results).map((r) => r.code)).toEqual(['a', 'b']);
  });

  it('leaves the link that a shorter answer passed over without a code', () => {
    const links = [
      link('https://a.example/'),
      link('https://b.example/'),
      link('https://c.example/'),
    ];
    const results = [result('https://a.example/', 'a'), result('https://c.example/', 'c')];
    expect(alignResults(links, results)).toEqual([
      results[0],
      { target_url: 'https://b.example/' },
      results[1],
    ]);
  });

  it('gives no link of a shorter answer a result of a URL that was not sent', () => {
    const links = [link('https://a.example/'), link('https://b.example/')];
    expect(alignResults(links, [result('https://x.example/', 'x')])).toEqual(links);
  });

  it.each([
    [
      'drops fragments',
      ['https://a.example/#1', 'https://a.example/#2', 'https://b.example/#3'],
      ['https://a.example/', 'https://a.example/', 'https://b.example/'],
    ],
    [
      'adds a slash',
      ['https://a.example/x', 'https://a.example/x/'],
      ['https://a.example/x/', 'https://a.example/x/'],
    ],
    [
      'drops the query',
      ['https://a.example/?a=1', 'https://a.example/?a=2'],
      ['https://a.example/', 'https://a.example/'],
    ],
    ['rewrites everything', ['https://a.example/', 'https://b.example/'], ['x://1', 'x://2']],
  ])('trusts the positions of a service that %s', (_, sent, answered) => {
    const results = answered.map((url, index) => result(url, String(index)));
    const aligned = alignResults(sent.map(link), results);
    expect(aligned).toEqual(sent.map((url, index) => ({ ...results[index], target_url: url })));
  });

  it('does not trust positions when a result is that of another link, in whatever spelling', () => {
    const links = [
      link('https://a.example/#x'),
      link('https://b.example'),
      link('https://c.example/'),
    ];
    const results = [
      result('https://b.example/', 'b'),
      result('https://a.example/', 'a'),
      result('https://else.example/', 'e'),
    ];
    expect(alignResults(links, results)).toEqual([
      { ...results[1], ...links[0] },
      { ...results[0], ...links[1] },
      links[2],
    ]);
  });

  it.each([
    [
      'in another spelling',
      ['https://b.example/', 'https://a.example/'],
      ['https://A.example', 'https://a.example/'],
    ],
    [
      'in the same spelling',
      ['https://b.example/', 'https://a.example/'],
      ['https://a.example/', 'https://a.example/'],
    ],
    [
      'without its fragment',
      ['https://b.example/', 'https://a.example/#x'],
      ['https://a.example/', 'https://a.example/#x'],
    ],
  ])('gives no link the second result of another link, %s', (_, sent, answered) => {
    const results = answered.map((url, index) => result(url, String(index)));
    expect(alignResults(sent.map(link), results)).toEqual([
      { target_url: sent[0] },
      { ...results[1], target_url: sent[1] },
    ]);
  });

  it('gives no code to two links', () => {
    const links = ['https://a.example/', 'https://a.example'].map(link);
    const results = [result('https://a.example', '1'), result('x://1', '2')];
    expect(alignResults(links, results)).toEqual([links[0], results[0]]);
  });

  it('gives no link a result by its position where another result belongs to a link elsewhere', () => {
    const links = ['https://c.example/', 'https://b.example/', 'https://a.example/'].map(link);
    const results = ['x://1', 'https://A.example', 'https://a.example/'].map((url, index) =>
      result(url, String(index)),
    );
    const codes = alignResults(links, results).map(({ code }) => code);
    expect(codes).toEqual([undefined, undefined, '2']);
  });

  it('finds the result of a link among more results than links', () => {
    const results = [result('https://b.example/', 'b'), result('https://a.example/', 'a')];
    expect(alignResults([link('https://a.example/')], results)).toEqual([results[1]]);
  });

  // Who follows a job again may have seen some of its refusals, and ask for the other links only.
  describe('where a target has more results than links', () => {
    const a = 'https://a.example/';
    const refused = { target_url: a, error: 'title is refused' };

    it.each([
      ['first', [refused, result(a, '1')]],
      ['last', [result(a, '1'), refused]],
      [
        'first, in another spelling',
        [{ ...refused, target_url: 'https://A.example' }, result(a, '1')],
      ],
    ])('gives a link the one with a code: a refused one came %s', (_, results) => {
      expect(alignResults([link(a)], results)).toMatchObject([{ target_url: a, code: '1' }]);
    });

    it('gives the links that are left what is left', () => {
      const results = [result(a, '1'), refused, refused, refused];
      const aligned = alignResults([link(a), link(a), link('https://b.example/')], results);
      expect(aligned).toEqual([result(a, '1'), refused, link('https://b.example/')]);
    });

    it('gives none to links that differ in their domain', () => {
      const links = ['d1', 'd2'].map((domain_id) => ({ target_url: a, domain_id }));
      expect(alignResults(links, [refused, refused, result(a, '1')])).toEqual([link(a), link(a)]);
    });
  });

  it.each([
    ['first', ['https://a.example/', 'https://a.example/', 'https://b.example/']],
    ['last', ['https://b.example/', 'https://a.example/', 'https://a.example/']],
  ])(
    'takes no link for refused where the result of another one of its target is missing: %s',
    (_, urls) => {
      const refused = { target_url: 'https://a.example/', error: 'title is refused' };
      const made = result('https://b.example/', 'b');
      const aligned = alignResults(urls.map(link), [refused, made]);
      expect(aligned).toEqual(urls.map((url) => (url === made.target_url ? made : link(url))));
    },
  );

  it('prefers the exact spelling where links differ in their fragment only', () => {
    const links = [link('https://a.example/#1'), link('https://a.example/#2')];
    const results = [result('https://a.example/#2', '2'), result('https://a.example/#1', '1')];
    expect(alignResults(links, results).map(({ code }) => code)).toEqual(['1', '2']);
  });

  it('gives each link its result or none, and no link the result of another, whatever comes back', () => {
    const urls = fc.array(
      fc.constantFrom('https://a.io/', 'https://a.io', 'https://a.io/#1', 'https://b.io/', 'x'),
      {
        minLength: 1,
        maxLength: 8,
      },
    );
    const order = urls.chain((sent) =>
      fc.tuple(fc.constant(sent), fc.shuffledSubarray([...sent.keys()])),
    );
    fc.assert(
      fc.property(order, ([sent, positions]) => {
        const results = positions.map((position) => result(sent[position] ?? '', String(position)));
        const aligned = alignResults(sent.map(link), results);
        expect(aligned.map(({ target_url }) => target_url)).toEqual(sent);
        const codes = aligned.flatMap(({ code }) => code ?? []);
        expect(new Set(codes).size).toBe(codes.length);
        // The service spelled every URL as it was sent, so that each result has its link.
        expect(codes).toHaveLength(results.length);
        aligned.forEach(({ code, target_url }) => {
          if (code !== undefined) expect(sent[Number(code)]).toBe(target_url);
        });
      }),
    );
  });

  it('gives each of several links to one URL a result of its own', () => {
    const links = [
      link('https://x.example/'),
      link('https://a.example/'),
      link('https://a.example/'),
    ];
    const results = [result('https://a.example/', '1'), result('https://a.example/', '2')];
    const codes = alignResults(links, results).map((r) => r.code);
    expect(codes.filter((code) => code !== undefined).toSorted()).toEqual(['1', '2']);
    expect(codes[0]).toBeUndefined();
  });

  it('takes a URL that the service normalised for the same', () => {
    const aligned = alignResults([link('https://A.example')], [result('https://a.example/', 'a')]);
    expect(aligned[0]).toMatchObject({ target_url: 'https://A.example', code: 'a' });
  });

  it('trusts the place of a recorded result that has no target URL', () => {
    const aligned = alignResults([link('https://a.example/')], [{ code: 'a', short_url: 's/a' }]);
    expect(aligned).toEqual([{ target_url: 'https://a.example/', code: 'a', short_url: 's/a' }]);
  });

  it('trusts the position of results that repeat no target URL, where there is one for each link', () => {
    const links = [link('https://a.example/'), link('https://b.example/')];
    const results = [result('', 'a'), result('', 'b')];
    expect(alignResults(links, results).map(({ code }) => code)).toEqual(['a', 'b']);
    expect(alignResults(links, results.slice(1))).toEqual(links);
  });

  it('survives a URL that can not be parsed', () => {
    expect(alignResults([link('not a url')], [result('nor this', 'n')])).toMatchObject([
      { target_url: 'not a url', code: 'n' },
    ]);
  });
});

describe('itemOf', () => {
  const target_url = 'https://a.example/';
  // What a lenient reader lets through, whatever the types say.
  const odd = (fields: object) => ({ target_url, ...fields });

  it.each([
    [{ code: 'a', short_url: 's/a' }, 'created'],
    [{ code: 'a', short_url: 's/a', error: null }, 'created'],
    [{ code: 'a', short_url: 's/a', error: '' }, 'created'],
    [{ error: 'blocked' }, 'failed'],
    [{ code: null, short_url: null, error: 'blocked' }, 'failed'],
    [{ code: null, short_url: null }, 'unknown'],
    [{ code: '', short_url: '' }, 'unknown'],
    [{ code: 'a' }, 'unknown'],
    [{}, 'unknown'],
  ])('of %j is %s', (fields, outcome) => {
    expect(outcomeOf(odd(fields)).outcome).toBe(outcome);
  });

  it('gives no link the result of another one that differs from it, where results are missing', () => {
    const links = [
      { target_url: 'https://a.io/', domain_id: 'd1' },
      { target_url: 'https://a.io/', domain_id: 'd2' },
    ];
    const codes = (sent: typeof links, results: ReturnType<typeof result>[]) =>
      alignResults(sent, results).map(({ code }) => code);
    expect(codes(links, [result('https://a.io/', '2')])).toEqual([undefined, undefined]);
    const inPage = ['https://a.io/#/1', 'https://a.io/#/2'].map((target_url) => ({
      target_url,
      domain_id: 'd1',
    }));
    expect(codes(inPage, [result('https://a.io/', '2')])).toEqual([undefined, undefined]);
  });

  it.each([
    ['title', { title: 'Poster' }, { title: 'Flyer' }],
    ['tags', { tags: ['a', 'b'] }, { tags: ['a'] }],
    ['redirect type', { redirect_type: 301 as const }, {}],
  ])(
    'gives links to one URL that differ in their %s no result, where one is missing',
    (_, a, b) => {
      const target_url = 'https://a.io/';
      const links = [{ target_url, ...a }, { target_url, ...b }, { target_url: 'https://b.io/' }];
      const bare = { target_url };
      const other = result('https://b.io/', '2');
      const made = result(target_url, '1');
      expect(alignResults(links, [made, other])).toEqual([bare, bare, other]);
      expect(alignResults(links, [other, made])).toEqual([bare, bare, other]);
      // The number of results is right, and yet one is missing, because another one came twice.
      expect(alignResults(links, [made, other, other])).toEqual([bare, bare, other]);
      // With all of their results, or where their positions are certain, each has its own.
      const all = [result(target_url, '1'), result(target_url, '3'), other];
      expect(alignResults(links, all)).toEqual(all);
      expect(alignResults(links, [{ error: 'bad' }, made, other])[1]).toEqual(made);
      // What links of a run differ in is read again.
      const entries = links.map((link, n) => ({
        ...entryOf(link, n),
        target_url: link.target_url,
      }));
      expect(alignResults(entries, [made, other])).toEqual([bare, bare, other]);
      const same = links.map((link) => ({ ...link, ...a }));
      expect(alignResults(same, [made, other])).toEqual([made, bare, other]);
    },
  );

  it('takes no links for alike whose fields can not be read again as they were sent', () => {
    const target_url = 'https://a.io/';
    const reused = { target_url, title: 'the last one' };
    const other = result('https://b.io/', '2');
    const unreadable = (n: number) => ({
      target_url,
      get title(): string {
        throw new Error(`title ${n}`);
      },
    });
    const changed = [1, 2].map(() => ({ target_url: 'https://c.io/' }));
    for (const inputs of [[reused, reused], [unreadable(1), unreadable(2)], changed]) {
      const entries = inputs.map((input, n) => ({ ...entryOf(input, n), target_url }));
      const last = { ...entryOf(link(other.target_url), 2), target_url: other.target_url };
      const aligned = alignResults([...entries, last], [result(target_url, '1'), other]);
      expect(aligned).toEqual([link(target_url), link(target_url), other]);
    }
  });

  it('gives links that differ in their domain only what they have, where the result of another link is missing', () => {
    const links = [
      { target_url: 'https://a.io/', domain_id: 'd1' },
      { target_url: 'https://a.io/', domain_id: 'd2' },
      { target_url: 'https://b.io/' },
    ];
    const results = [result('https://a.io/', '1'), result('https://a.io/', '2')];
    expect(alignResults(links, results).map(({ code }) => code)).toEqual(['1', '2', undefined]);
  });

  it('gives links to one URL their results in order, where the result of a link before them is missing', () => {
    const targets = ['https://a.io/', 'https://b.io/', 'https://c.io/', 'https://c.io/'];
    const links = targets.map((target_url) => ({ target_url }));
    const refused = (target_url: string) => ({ target_url, error: 'title: not allowed' });
    const results = [
      refused('https://a.io/'),
      refused('https://c.io/'),
      result('https://c.io/', '1'),
    ];
    expect(alignResults(links, results)).toEqual([
      refused('https://a.io/'),
      { target_url: 'https://b.io/' },
      refused('https://c.io/'),
      result('https://c.io/', '1'),
    ]);
  });

  it('gives the links of one URL what a job that still runs has done, each its own', () => {
    const a = 'https://a.io/';
    const results = [
      result(a, '1'),
      { target_url: a, error: 'title: not allowed' },
      result(a, '2'),
      result('https://b.io/', '3'),
    ];
    const targets = [a, a, a, 'https://b.io/', a];
    const links = targets.map((target_url) => ({ target_url }));
    const codes = alignResults(links, results, true).map(({ code }) => code);
    expect(codes).toEqual(['1', undefined, '2', '3', undefined]);
  });

  it('of no result is unknown', () => {
    expect(outcomeOf(undefined)).toMatchObject({ outcome: 'unknown' });
  });

  it('reports a link that has its code as created, whatever error stands beside it', () => {
    for (const error of [0, {}, [], '', 'title was cut']) {
      const [item] = reader(results)([
        { target_url: 'https://a.io/', code: 'c', short_url: 'https://s/c', error },
      ]);
      expect(outcomeOf(item)).toMatchObject({ outcome: 'created', code: 'c' });
    }
  });
});
