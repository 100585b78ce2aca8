import { expect, test } from 'vitest';
import { contentHash, linkIdentity, linkText, pairOf } from './link-text.ts';

const target_url = 'https://a.example/';

test('a link is identified by its target URL and its domain, which may be that of the request', () => {
  expect(linkIdentity({ target_url }, undefined).pair).toBe(target_url);
  expect(linkIdentity({ target_url }, 'dom_a').pair).toBe(`${target_url}\ndom_a`);
  expect(linkIdentity({ target_url, domain_id: 'dom_b' }, 'dom_a').pair).toBe(
    `${target_url}\ndom_b`,
  );
  expect(pairOf(target_url, '')).toBe(target_url);
});

test('the text of a link is its content in seven characters, then what identifies it', () => {
  const identity = linkIdentity({ target_url, title: 'T' }, 'dom_a');
  expect(identity.content).toMatch(/^[\da-z]{7}$/);
  expect(linkText(identity)).toBe(`${identity.content}${target_url}\ndom_a`);
});

test('the content is the same in every release, so that old journals stay readable', () => {
  expect(contentHash({ target_url })).toBe(contentHash({ target_url: 'https://b.example/' }));
  expect(contentHash({ target_url })).toBe('01u5ezj');
  expect(contentHash({ target_url, title: 'Title', tags: ['a', 'b'], redirect_type: 301 })).toBe(
    '14i6ga1',
  );
});

test('each edit of a row changes its content', () => {
  const links = [
    {},
    { title: 'ab' },
    { title: 'ba' },
    { title: 'a', tags: ['b'] },
    { tags: ['ab'] },
    { tags: ['a', 'b'] },
    { tags: ['b', 'a'] },
    { redirect_type: 301 as const },
    { redirect_type: 302 as const },
  ];
  const contents = links.map((link) => contentHash({ target_url, ...link }));
  expect(new Set(contents).size).toBe(links.length);
  expect(contents.every((content) => content.length === 7)).toBe(true);
});
