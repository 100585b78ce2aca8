import { customAlphabet } from 'nanoid';

/** Digits and letters without those that are read for one another: 0 O, 1 l I. */
export const CODE_ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** 57^7 codes: with a million links, one new code in two million collides and is drawn again. */
export const CODE_LENGTH = 7;

/** Anything else can't be a code, and is not worth a look-up. */
export const CODE = new RegExp(`^[${CODE_ALPHABET}]{${CODE_LENGTH}}$`);

/** Draws tried for one link. With half of all codes taken, 100 in a row fail once in 10^30: running out means a broken generator. */
export const MAX_CODE_DRAWS = 100;

/** Draws a random code from a CSPRNG, without modulo bias. Uniqueness is the store's unique index, never a look-up before. */
export const generateCode: () => string = customAlphabet(CODE_ALPHABET, CODE_LENGTH);

/** 57^12: unguessable enough for a name that opens nothing, short enough to type in an admin command. */
const randomPart = customAlphabet(CODE_ALPHABET, 12);

/** Millisecond of the last id, as the beginning of an id, and the number of the id in it, from 0x1000 on. */
let lastMs = 0;
let prefix = '';
let number = 0;

/** Id of a link or a job: a UUIDv7 (RFC 9562, section 5.7), so ids sort by creation time. Ids of one millisecond count up (section 6.2, method 1). */
export function newUuid(): string {
  const now = Date.now();
  if (now > lastMs) beginMs(now);
  else if (number === 0x1fff) beginMs(lastMs + 1);
  else number += 1;
  // From its fourth group on, a UUID of the platform is random, and has the same variant.
  const random = crypto.randomUUID().slice('xxxxxxxx-xxxx-4xxx-'.length);
  return `${prefix}${number.toString(16).slice(1)}-${random}`;
}

export const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Id of a link that was created elsewhere at this time: it sorts among those of that time. */
export const uuidOf = (ms: number) => `${beginningOf(Math.max(0, ms))}${newUuid().slice(15)}`;

function beginMs(ms: number): void {
  lastMs = ms;
  number = 0x1000;
  prefix = beginningOf(ms);
}

function beginningOf(ms: number): string {
  const digits = ms.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7`;
}

export const DOMAIN_ID = 'dom_';

/** Id of an account, a key (which is not the key itself) or a custom domain. Its prefix tells a person which kind of id was pasted. */
export const newId = (prefix: 'acc_' | 'key_' | typeof DOMAIN_ID) => prefix + randomPart();
