import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyCharacter } from '../../../tools/test/any-text.ts';
import { leastTime } from '../../test/least-time.ts';
import { checkTarget, locationOf } from './targets.ts';

const anyHost = { isOwnHost: () => false, isAllowedHost: () => true };
const check = (host: string) => checkTarget(`https://${host}/`, anyHost);

/** Different characters, since one that repeats costs a URL parser little. */
const different = (count: number) =>
  Array.from({ length: count }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 613) % 20_000))).join(
    '',
  );

/** Marks that combine with the letter before them, in an order that has to be sorted. */
const marks = (count: number) => 'a'.concat('\u0301\u0315\u0300\u0323'.repeat(count / 4));

const TOO_LONG =
  /at most 253 characters in a host that is not ASCII, and at most 63 between its dots/;

const label = 'l'.repeat(63);
const LONGEST = [label, label, label, 'l'.repeat(61)].join('.');

test.each([
  LONGEST,
  `${LONGEST}.`,
  `user@${LONGEST}:65535`,
  [...LONGEST].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join(''),
  `${'ü'.repeat(57)}.example`,
  `${'u\u0308'.repeat(57)}.example`,
  encodeURIComponent(`${'α\u0313\u0300'.repeat(40)}.example`),
  encodeURIComponent(`${'한'.normalize('NFD').repeat(25)}.example`),
  `${'\u0345\u0301'.repeat(50)}.example`,
  `${'ｶﾞ'.repeat(20)}。example`,
  `ａ${'．ａ'.repeat(126)}`,
  `a${'\u00ad'.repeat(1_900)}.example`,
  `${'0'.repeat(300)}.0.0.1`,
  `[${'0:'.repeat(7)}1]`,
])('a host that DNS can carry is accepted, however it is spelled (%#)', (host) => {
  expect(check(host)).toBeUndefined();
});

test.each([
  `${LONGEST.slice(0, -1)}éé`,
  `${'ü'.repeat(64)}.example`,
  `${label}a.é`,
  Array(30).fill(different(9)).join('.'),
  different(680),
  encodeURIComponent(different(220)),
  `%zz${different(680)}`,
  marks(2_000),
  `a${'ﾞ\u0300'.repeat(1_000)}`,
  `a${'\u0315\u034f\u0300'.repeat(600)}`,
  'é.'.repeat(1_000),
])('a host that is too long for DNS is refused (%#)', (host) => {
  expect(check(host)).toMatch(TOO_LONG);
});

test('no host whose name fits is refused for its spelling', () => {
  const unit = fc.oneof(
    fc.constantFrom('.', '。', 'ﾞ', 'ｶ', '\u0301', '\u0323', '\u0345', '\u00ad', 'ß', 'İ', 'ℋ', 'α'),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }),
  );
  const piece = fc.tuple(unit, fc.integer({ min: 1, max: 40 }));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.boolean(), (pieces, encoded) => {
      const text = `a${pieces.map(([part, count]) => part.repeat(count)).join('')}`;
      fc.pre(!/[\s:/?#@\\%\p{Cc}\p{Surrogate}]/u.test(text));
      const host = encoded ? encodeURIComponent(text) : text;
      const name = URL.parse(`https://${host}/`)?.hostname.replace(/\.+$/, '');
      fc.pre(name !== undefined && name.length <= 253 && !/[^.]{64}/.test(name));
      expect(check(host)).toBeUndefined();
    }),
  );
});

describe.each([
  ['different characters', different(2_000)],
  ['different characters, percent-encoded', encodeURIComponent(different(220))],
  ['different characters behind a broken escape', `%zz${different(1_900)}`],
  ['combining marks', marks(2_000)],
  ['marks that combine once they are normalised', `a${'ﾞ\u0300'.repeat(990)}`],
  ['marks behind ignored characters', `a${'\u0315\u034f\u0300'.repeat(660)}`],
  ['characters of many characters', 'ﷺ'.repeat(2_000)],
])('a host of %s', (_name, host) => {
  const target = `http://${host}/`;
  const ordinary = `http://example.com/${'\u00fc'.repeat(target.length - 19)}`;

  test('costs little more to check than a path of the same length', () => {
    const plain = leastTime(() => checkTarget(ordinary, anyHost));
    expect(leastTime(() => checkTarget(target, anyHost))).toBeLessThan(15 * plain + 0.01);
  });
});

test('the location of a stored link with a host that is too long is the same URL in ASCII', () => {
  const path = '/ü x?ä=ö#€';
  const target = `https://user@${different(300)}:8443${path}`;
  const location = locationOf(target);
  expect(location).toMatch(/^[\x21-\x7e]+$/);
  expect(new URL(location).href).toBe(new URL(target).href);
});
