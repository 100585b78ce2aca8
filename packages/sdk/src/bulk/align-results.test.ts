import { describe, expect, it } from 'vitest';
import { alignResults } from './align-results.ts';

const link = (target_url: string) => ({ target_url });
const result = (target_url: string, code: string) => ({
  target_url,
  code,
  short_url: `https://s.example/${code}`,
});

describe('alignResults', () => {
  it('keeps results that are in order', () => {
    const results = [result('https://a.example/', 'a'), result('https://b.example/', 'b')];
    expect(alignResults([link('https://a.example/'), link('https://b.example/')], results)).toEqual(
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

  it('gives no link a result of a URL that was not sent', () => {
    const aligned = alignResults([link('https://a.example/')], [result('https://x.example/', 'x')]);
    expect(aligned).toEqual([{ target_url: 'https://a.example/' }]);
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

  it('survives a URL that can not be parsed', () => {
    expect(alignResults([link('not a url')], [result('nor this', 'n')])).toEqual([
      { target_url: 'not a url' },
    ]);
  });
});
