import { customAlphabet } from 'nanoid';

/** Digits and letters without those that are read for one another: 0 O, 1 l I. */
export const CODE_ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** 57^7 codes: with a million links, one new code in two million collides and is drawn again. */
export const CODE_LENGTH = 7;

/**
 * Draws tried for one link before giving up. Even with half of all codes taken, a code fails 100 draws in a row once in 10^30,
 * so running out means a broken generator, not a full table.
 */
export const MAX_CODE_DRAWS = 100;

/** Draws a random code from a CSPRNG, without modulo bias. Uniqueness is the store's unique index, never a look-up before. */
export const generateCode: () => string = customAlphabet(CODE_ALPHABET, CODE_LENGTH);
