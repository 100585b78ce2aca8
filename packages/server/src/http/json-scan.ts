import { invalidRequest } from '../domain/problem.ts';

/** A batch is nested three deep; no request that this service takes comes near the bound. */
export const MAX_DEPTH = 16;

/** Elements of arrays and fields of objects: a batch of 10,000 links with every field and 20 tags each has 270,000. */
export const MAX_MEMBERS = 500_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Counts the depth and the members of a JSON text, so that one that can't be a request never reaches `JSON.parse`. That needs up to
 * 60 bytes for each of `[[[[` or `{},{},`, and where an array finds no space, the process ends, also in a thread with a limit of its own.
 *
 * @throws a 400 where there are too many levels or members
 */
export function checkStructure(bytes: Uint8Array): void {
  let depth = 0;
  let members = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i];
    if (inString) {
      // What is escaped ends no string.
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === COMMA) members += 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      members += 1;
      if (depth > MAX_DEPTH) {
        throw invalidRequest(`The request body is nested deeper than ${MAX_DEPTH} levels.`);
      }
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
  }
  if (members > MAX_MEMBERS) {
    throw invalidRequest(`The request body has more than ${MAX_MEMBERS} fields and elements.`);
  }
}
