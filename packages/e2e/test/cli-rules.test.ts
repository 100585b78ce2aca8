import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRowRules } from '../../cli/src/import/map/row-rules.ts';
import { Problem } from '../../server/src/domain/problem.ts';
import { validateLink } from '../../server/src/domain/validate-link.ts';
import { CsvReader } from '../../tables/src/read-csv.ts';
import { LINK_FIELDS } from '../../tables/src/types.ts';
import { anyUrl } from '../../tools/test/any-text.ts';
import { isNight } from '../src/is-night.ts';

/** When the CLI accepts a row that the server rejects, its batch needs a second request. */
const cliRules = createRowRules(
  {
    plan: {
      format: 'csv',
      encoding: 'utf-8',
      delimiter: ',',
      columns: [...LINK_FIELDS],
      hasHeader: true,
      notes: [],
      mapping: Object.fromEntries(LINK_FIELDS.map((field, index) => [field, index])),
    },
    resultColumns: {},
    isOwnFile: false,
    isRejects: false,
  },
  { defaults: { tags: undefined, redirect_type: undefined }, addTags: [] },
);

class AnyDomain extends Set<string> {
  override has(): boolean {
    return true;
  }
}

/** The format of this server's own ids. Another service may have another format, so the CLI doesn't check it. */
const DOMAIN_ID = /^[\w-]{1,64}$/;

/** The CLI can't know a server's settings, so it accepts what depends on them. */
const serverAllows = (sent: { domain_id?: string | undefined }) => {
  const isForeignId = !/[\0\p{Surrogate}]/u.test(sent.domain_id ?? '');
  const link =
    isForeignId && !DOMAIN_ID.test(sent.domain_id ?? '') ? { ...sent, domain_id: 'd1' } : sent;
  const ownedDomains = new AnyDomain();
  const isOwnHost = () => false;
  const isAllowedHost = () => true;
  try {
    return validateLink(link, { ownedDomains, isOwnHost, isAllowedHost }) !== undefined;
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
};

const odd = fc.constantFrom(
  ...[
    '\0',
    '\u0001',
    '\u007f',
    '\u0085',
    '\u00a0',
    '\u200b',
    '\u2028',
    '\ufeff',
    '\ud800',
    '\udc00',
    '😀',
  ],
  ...[
    ' ',
    '\t',
    '\n',
    '"',
    "'",
    '\\',
    '@',
    ':',
    '/',
    '?',
    '#',
    '%',
    '[',
    ']',
    '.',
    '-',
    '|',
    ',',
    ';',
  ],
  ...[
    'http://',
    'https://',
    'HTTPS://',
    'javascript:',
    'user:pw@',
    'user@',
    'xn--',
    '1.2.3.4',
    '::1',
    ':99999',
    'é',
    'ß',
  ],
);
const piece = fc.oneof(odd, fc.string({ unit: 'grapheme', maxLength: 8 }), anyUrl);
const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));
const long = (limit: number) =>
  fc
    .integer({ min: limit - 2, max: limit + 2 })
    .chain((length) =>
      fc.constantFrom('a', '😀', 'é').map((unit) => unit.repeat(length).slice(0, length)),
    );
const target = fc.oneof(
  text,
  text.map((rest) => `https://${rest}`),
  text.map((rest) => `https://example.com/${rest}`),
  long(2048 - 20).map((rest) => `https://example.com/${rest}`),
);
const row = fc.tuple(
  target,
  fc.oneof(text, long(255)),
  fc.oneof(
    text,
    long(50),
    fc
      .array(fc.constantFrom('a', 'b'), { minLength: 18, maxLength: 22 })
      .map((tags) => tags.join('|')),
  ),
  fc.oneof(fc.constant(''), text),
  fc.constantFrom('', '301', '302', '307'),
);

/** A blank or an invisible character in a target is more likely a neighbour of the URL than a part of it: the CLI alone rejects it. */
const isNeighbour = (problem: string | undefined) => /at character \d+/.test(problem ?? '');

test('what the CLI lets pass the server takes, and what it rejects the server would refuse', () => {
  const seen = { passed: 0, rejected: 0 };
  fc.assert(
    fc.property(row, (cells) => {
      const checked = { line: 1, cells };
      const { link, problem } = cliRules.check(checked);
      if (isNeighbour(problem)) return;
      if (problem === undefined) seen.passed += 1;
      else seen.rejected += 1;
      // Through JSON, as the request goes: that is where half of a surrogate pair turns into an escape.
      expect(serverAllows(JSON.parse(JSON.stringify(link))), problem ?? 'passed').toBe(
        problem === undefined,
      );
    }),
    { numRuns: isNight ? 5_000 : 1_000 },
  );
  expect(Math.min(seen.passed, seen.rejected)).toBeGreaterThan(100);
});

test('the same of rows read from a file, quoted where they must be', () => {
  const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
  fc.assert(
    fc.property(row, fc.boolean(), (cells, always) => {
      const reader = new CsvReader({ delimiter: ',', name: 'x.csv' });
      const needsQuotes = (cell: string) => always || /[",\r\n]|^\s|\s$/.test(cell);
      const line = cells.map((cell) => (needsQuotes(cell) ? quoted(cell) : cell)).join(',');
      for (const read of [...reader.push(`${line}\n`), ...reader.end()]) {
        const { link, problem } = cliRules.check(read);
        if (!isNeighbour(problem)) {
          expect(serverAllows(JSON.parse(JSON.stringify(link)))).toBe(problem === undefined);
        }
        expect(cliRules.link(read)).toEqual(link);
      }
    }),
    { numRuns: isNight ? 2_000 : 300 },
  );
});
