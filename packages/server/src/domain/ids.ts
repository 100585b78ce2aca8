import { customAlphabet } from 'nanoid';
import { v7 } from 'uuid';

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

/** 57^12: unguessable enough for a name that opens nothing, short enough to type in an admin command. */
const randomPart = customAlphabet(CODE_ALPHABET, 12);

/** A draw from the system's generator costs 3 µs whether it is for 16 bytes or for many ids: a sixth of a link's creation. */
const pool = new Uint8Array(4_096);
const UUID_BYTES = 16;
let poolUsed = pool.length;

function drawUuidBytes(): Uint8Array {
  if (poolUsed === pool.length) {
    crypto.getRandomValues(pool);
    poolUsed = 0;
  }
  poolUsed += UUID_BYTES;
  return pool.subarray(poolUsed - UUID_BYTES, poolUsed);
}

/** Millisecond of the last id, and its place in it: ids of one millisecond count up from a random number. */
let lastMs = 0;
let sequence = 0;

/** Id of a link or a job: a UUIDv7 (RFC 9562, section 5.7), so ids sort by creation time. */
export function newUuid(): string {
  const random = drawUuidBytes();
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    // 31 bits of the 32: the other half is room to count (RFC 9562, section 6.2, method 1).
    sequence = new DataView(random.buffer, random.byteOffset).getUint32(6) >>> 1;
  } else {
    sequence += 1;
  }
  return v7({ random, msecs: lastMs, seq: sequence });
}

/** Id of an account, such as `acc_7hVmWq2RkPzN`. The prefix tells a person which kind of id was pasted. */
export function newAccountId(): string {
  return `acc_${randomPart()}`;
}

/** Id of an API key: what admin commands name it by; it isn't the key itself. */
export function newKeyId(): string {
  return `key_${randomPart()}`;
}

/** Id of a custom domain: what a request gives as `domain_id`. */
export function newDomainId(): string {
  return `dom_${randomPart()}`;
}
