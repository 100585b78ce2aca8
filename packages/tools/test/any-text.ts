import fc from 'fast-check';

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const LAST_CODE_POINT = 0x10ffff;

/**
 * Any character of Unicode: `fc.string({ unit: anyCharacter })` draws what `unit: 'binary'` would. That one writes all 1,112,064 characters into a
 * table first, which takes four seconds in each process.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .nat(LAST_CODE_POINT - SURROGATES)
  .map(
    (index) => String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES),
    indexOf,
  );

/** The other way, with which fast-check recognizes texts that break programs, such as `__proto__`, and draws them too. */
function indexOf(character: unknown): number {
  const codePoint = typeof character === 'string' ? character.codePointAt(0) : undefined;
  if (codePoint === undefined || character !== String.fromCodePoint(codePoint))
    throw new Error('This is no character.');
  if (codePoint < FIRST_SURROGATE) return codePoint;
  if (codePoint < FIRST_SURROGATE + SURROGATES) throw new Error('Half of a character is none.');
  return codePoint - SURROGATES;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';

/** A part of a URL: letters, digits and these signs, and now and then any other character in percent-encoding. */
const part = (signs: string, size: fc.Size = 'small') =>
  fc.string({
    size,
    unit: fc.oneof(
      { weight: 10, arbitrary: fc.constantFrom(...LETTERS, ...'0123456789', ...signs) },
      { weight: 1, arbitrary: anyCharacter.map(encodeURIComponent) },
    ),
  });

const IN_PATH = "-._~!$&'()*+,;=:@";
const behind = (sign: string) =>
  fc.option(
    part(`${IN_PATH}/?`).map((text) => sign + text),
    { nil: '' },
  );

const path = (segment: fc.Size, count: fc.Size) =>
  fc.array(
    part(IN_PATH, segment).map((text) => `/${text}`),
    { size: count },
  );

/** A web address as `fc.webUrl` draws it with its query and fragment, without that table. */
export const anyUrl: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('http', 'https'),
    fc.webAuthority(),
    fc.oneof(path('small', 'xsmall'), path('xsmall', 'small')),
    behind('?'),
    behind('#'),
  )
  .map(
    ([scheme, host, segments, query, fragment]) =>
      `${scheme}://${host}${segments.join('')}${query}${fragment}`,
  );
