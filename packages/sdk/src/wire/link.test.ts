import { expect, test } from 'vitest';
import { pickLinkFields } from './link.ts';

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
