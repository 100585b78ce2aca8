import { expect, test } from 'vitest';
import { pickLinkFields, readLink } from './link.ts';

const LINK = {
  target_url: 'https://example.com',
  title: 'Docs',
  domain_id: 'd1',
  redirect_type: 301,
  tags: ['docs'],
} as const;

test('only the fields of a link are picked, in a fixed order', () => {
  const row = { password_hash: 'x', ...LINK, email: 'a@example.com', id: 7 };
  expect(JSON.stringify(pickLinkFields(row))).toBe(JSON.stringify(LINK));
});

test('fields that are not given are not sent', () => {
  const entry = { target_url: 'https://example.com', email: 'a@example.com' };
  expect(JSON.stringify(pickLinkFields(entry))).toBe('{"target_url":"https://example.com"}');
});

test('an object that makes its own JSON is asked for it', () => {
  class Row {
    readonly target_url = 'https://example.com/row';
    readonly secret = 'x';
    toJSON() {
      return { target_url: this.target_url, title: 'Row', secret: this.secret };
    }
  }
  expect(JSON.stringify(pickLinkFields(new Row()))).toBe(
    '{"target_url":"https://example.com/row","title":"Row"}',
  );
});

const CREATED = { code: 'c', short_url: 'https://s.example/c' };
const DEFAULTS = {
  id: '',
  target_url: '',
  title: '',
  redirect_type: 302,
  is_active: true,
  click_count: 0,
  tags: [],
  created_at: '',
};

test.each([
  ['nothing else', {}],
  ['nulls', Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, null]))],
  ['other types', { id: {}, title: [], redirect_type: 'x', is_active: 'yes', tags: 'docs' }],
])('a created link needs its code and short_url, and has a default for %s', (_, fields) => {
  expect(readLink({ ...CREATED, ...fields })).toEqual({ data: { ...CREATED, ...DEFAULTS } });
});

test('a number becomes a text, a numeral a number, and odd tags are left out', () => {
  const odd = { id: 7, code: 12, redirect_type: '301', click_count: '3', tags: ['a', 7, null] };
  expect(readLink({ ...CREATED, ...odd })).toMatchObject({
    data: { id: '7', code: '12', redirect_type: 301, click_count: 3, tags: ['a', '7'] },
  });
});
