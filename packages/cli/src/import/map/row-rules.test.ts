import { MAX_TAG_LENGTH } from '@shortlink/sdk';
import type { LinkField, Row } from '@shortlink/tables/basics';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createReader } from '../../../../tables/src/read-rows.ts';
import { anyCharacter, anyUrl } from '../../../../tools/test/any-text.ts';
import { createRowRules } from './row-rules.ts';
import { targetProblem } from './target-problem.ts';

const FIELDS: readonly LinkField[] = ['target_url', 'title', 'tags', 'domain_id', 'redirect_type'];

function check(
  cells: readonly string[],
  options: { isOwnFile?: boolean; object?: Row['object'] } = {},
) {
  const layout: Parameters<typeof createRowRules>[0] = {
    plan: {
      format: 'csv',
      encoding: 'utf-8',
      delimiter: ',',
      columns: [...FIELDS],
      hasHeader: true,
      notes: [],
      mapping: Object.fromEntries(FIELDS.map((field, index) => [field, index])),
    },
    resultColumns: {},
    isRejects: false,
    isOwnFile: options.isOwnFile === true,
  };
  const row: Row = { line: 2, cells, object: options.object };
  const rules = createRowRules(layout, { defaults: {} });
  const { link, problem } = rules.check(row);
  return problem ?? link;
}

const URL = 'https://example.com/';

describe('target URLs', () => {
  test.each([
    URL,
    'HTTP://EXAMPLE.COM',
    'https://ann@example.com/',
    'https://bücher.example/ü?ä=ö',
    'https://example.com/👩‍💻/می‌خواهم',
    'http://[::1]:3000/',
    'https://example.com/?next=https://user:pass@other.example',
    `https://example.com/${'a'.repeat(2028)}`,
    // As a `Location`, each of these characters is twelve bytes.
    `https://example.com/${'😀'.repeat(681)}`,
  ])('%s', (url) => {
    expect(check([url])).toEqual({ target_url: url });
  });

  test.each([
    ['', 'no target URL'],
    ['example.com/x', 'is https:// missing?'],
    ['bücher.example/x', 'is https:// missing?'],
    ['https://e.example/1 https://e.example/2', 'a space (U+0020) at character 20'],
    ['https://e.example/a # note', 'a space (U+0020) at character 20'],
    ['https://e.example/b - title', 'a space (U+0020) at character 20'],
    ['https://e.example/\u200b', 'a zero-width space (U+200B) at character 19'],
    ['https://e.example/😀\u00adx', 'a soft hyphen (U+00AD) at character 20'],
    ['https://e.example/a\u00a0b', 'a no-break space (U+00A0) at character 20'],
    ['https://e.example/\ufeffx', 'a byte order mark (U+FEFF) at character 19'],
    ['https://e.example/a\u200d', 'an invisible character (U+200D) at character 20'],
    ['https://e.example/a\u3164b', 'an invisible character (U+3164) at character 20'],
    ['\u2066https://e.example/', 'an invisible character (U+2066) at character 1'],
    ['<https://e.example/>', 'an angle bracket (U+003C) at character 1'],
    ['/path', 'not an absolute http or https URL: "/path"'],
    ['ftp://example.com', 'not an absolute'],
    ['javascript:alert(1)', 'not an absolute'],
    ['https://', 'not an absolute'],
    ['https:example.com', 'not an absolute'],
    ['https://example.com\\@evil.example', 'not an absolute'],
    ['https://exa mple.com/', 'a space (U+0020) at character 12'],
    ['https://example.com:99999/', 'not a valid URL'],
    ['https://example.com/a\nb', 'a line break (U+000A) at character 22'],
    ['https://example.com/a\rb', 'a line break (U+000D) at character 22'],
    ['https://example.com/a\tb', 'a tab (U+0009) at character 22'],
    ['https://example.com/a\u0085b', 'an invisible character (U+0085) at character 22'],
    ['nope\u001b', 'an invisible character (U+001B) at character 5'],
    [`https://example.com/${'a'.repeat(2029)}`, '2049 characters long, at most 2048'],
    [`https://example.com/${'😀'.repeat(681)}a`, '8193 bytes once it is percent-encoded'],
    ['https://example.com/\ud800', 'not a valid URL'],
  ])('%j is refused: %s', (url, reason) => {
    expect(check([url])).toContain(reason);
  });

  test('a reason never holds a password', () => {
    const reason = check(['https://ann:s3cret@example.com/']);
    expect(reason).toContain('holds a password');
    expect(reason).not.toContain('s3cret');
  });

  test('what passes is a URL', () => {
    fc.assert(
      fc.property(fc.oneof(anyUrl, fc.string({ unit: anyCharacter })), (text) => {
        if (targetProblem(text) === undefined) expect(text).toMatch(/^https?:\/\//i);
        if (targetProblem(text) === undefined) expect(globalThis.URL.canParse(text)).toBe(true);
      }),
    );
  });
});

describe('the other fields', () => {
  test('empty ones are left out, whitespace around cells is dropped', () => {
    expect(check([` ${URL} `, ' ', '', '', ''])).toEqual({ target_url: URL });
    expect(check([URL, ' A title ', 'a, b;;c | d', ' d1 ', '307'])).toEqual({
      target_url: URL,
      title: 'A title',
      tags: ['a', 'b', 'c', 'd'],
      domain_id: 'd1',
      redirect_type: 307,
    });
  });

  test.each<[string, string[], string]>([
    ['a title too long', [URL, 'x'.repeat(256)], 'x…" is 256 characters long'],
    ['NUL in a title', [URL, 'a\0b'], 'NUL or broken'],
    ['half a character in a title', [URL, 'a\ud83d'], 'title "a\\ud83d" holds NUL or broken'],
    ['half a character in a tag', [URL, '', 'a,\ude00b'], 'tag "\\ude00b" holds NUL or broken'],
    ['a failed formula as the title', [URL, '#N/A'], 'title "#N/A" is a failed formula'],
    ['a failed formula as a tag', [URL, '', 'a,#REF!'], 'tag "#REF!" is a failed formula'],
    [
      'half a character in a domain',
      [URL, '', '', 'd\ud83d'],
      'domain_id "d\\ud83d" holds NUL or broken',
    ],
    ['too many tags', [URL, '', Array.from({ length: 21 }, (_, i) => i).join()], '21 tags'],
    ['a tag too long', [URL, '', 'x'.repeat(MAX_TAG_LENGTH + 1)], 'characters long, at most'],
    [
      'another redirect',
      [URL, '', '', '', '308'],
      'redirect_type "308" is not one of 301, 302, 307',
    ],
    ['a cell too many', [URL, '', '', '', '', 'x'], '6 cells, the header has 5'],
  ])('%s is refused', (_, cells, reason) => {
    expect(check(cells)).toContain(reason);
  });

  test.each(['#N/A', '#REF!', '#VALUE!', '#NAME?', '#DIV/0!', '#NUM!', '#NULL!', '#ERROR!'])(
    '%s is a failed formula where nothing else is in the cell',
    (text) => {
      expect(check([URL, text])).toContain(`title "${text}" is a failed formula`);
      const [title, tag] = [`${text} explained`, `Why ${text}`];
      expect(check([URL, title, tag])).toMatchObject({ title, tags: [tag] });
    },
  );

  test('the longest allowed, and empty cells beyond the last column, pass', () => {
    expect(check([URL, 'x'.repeat(255), 'y'.repeat(MAX_TAG_LENGTH), '', '', '', ''])).toMatchObject(
      {
        title: 'x'.repeat(255),
      },
    );
  });

  test('lengths are counted in characters, and the last of those allowed passes', () => {
    const title = '😀'.repeat(255);
    const tags = Array.from(
      { length: 20 },
      (_, n) => `${'😀'.repeat(MAX_TAG_LENGTH - 2)}${n + 10}`,
    );
    expect(check([URL, title, tags.join()])).toMatchObject({ title, tags });
  });

  test('only in a rejects file is the guard of a formula taken off', () => {
    expect(check([URL, "'=1+1"])).toMatchObject({ title: "'=1+1" });
    expect(check([URL, "'=1+1"], { isOwnFile: true })).toMatchObject({ title: '=1+1' });
    expect(check([URL, "'tis"], { isOwnFile: true })).toMatchObject({ title: "'tis" });
  });
});

const jsonl = () => ({ format: 'jsonl' as const, delimiter: undefined, columns: [...FIELDS] });

test.each<[string, Record<string, unknown>, string]>([
  ['a title', { title: { de: 'Hallo' } }, 'title is not text: "{\\"de\\":\\"Hallo\\"}"'],
  ['a list as a title', { title: ['a'] }, 'title is not text'],
  ['tags', { tags: [{ name: 'a' }] }, 'tags are not a list of texts'],
  ['tags by name', { tags: { a: true } }, 'tags are not a list of texts'],
])('%s that JSON holds as an object is refused', (_, fields, reason) => {
  const line = JSON.stringify({ target_url: URL, ...fields });
  const [row] = createReader('x', jsonl(), 1).push(`${line}\n`);
  expect(row && check(row.cells, { object: row.object })).toContain(reason);
});

test('JSON: numbers and null are text', () => {
  const line = `{"target_url":"${URL}","title":12345678901234567890,"tags":[1.50,null,"b"]}\n`;
  const [row] = createReader('x', jsonl(), 1).push(line);
  expect(row && check(row.cells, { object: row.object })).toEqual({
    target_url: URL,
    title: '12345678901234567890',
    tags: ['1.50', 'b'],
  });
});

test('the quick look at a URL takes only what all the others take', () => {
  const word = fc.constantFrom('a', 'b-', '1', 'xn--', 'xn--p1ai', '.', '%41', 'é');
  const url = fc
    .tuple(
      fc.constantFrom('http://', 'HTTPS://', 'https:/'),
      fc.array(word, { maxLength: 5 }),
      fc.constantFrom('', '/', '?', '#', ':80', '\\', '@', ' '),
      fc.string(),
    )
    .map(([scheme, host, next, rest]) => `${scheme}${host.join('')}${next}${rest}`);
  fc.assert(
    fc.property(url, (cell) => {
      if (targetProblem(cell) === undefined) expect(globalThis.URL.canParse(cell)).toBe(true);
    }),
    { numRuns: 3000 },
  );
});
