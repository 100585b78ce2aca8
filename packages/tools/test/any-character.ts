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
