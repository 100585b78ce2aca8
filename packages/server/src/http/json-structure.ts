import { setImmediate as nextTurn } from 'node:timers/promises';
import { invalidRequest } from '../domain/problem.ts';
import { isObject } from '../domain/validate-link.ts';

/** A batch is nested three deep; no request that this service takes comes near the bound. */
export const MAX_DEPTH = 16;

/** Elements of arrays and fields of objects: a batch of 10,000 links with every field and 20 tags each has 270,000. */
export const MAX_MEMBERS = 500_000;

/** Links that are parsed in one turn of the event loop: two milliseconds for the longest ones. Redirects wait no longer for a batch. */
const LINKS_PER_TURN = 200;

/** Depth of the commas between the links of a batch. */
const LINKS_DEPTH = 2;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Counts the depth and the members of a JSON text while its bytes arrive. `JSON.parse` needs up to 60 bytes of memory for one byte of
 * text such as `[[[[` or `{},{},` and blocks all other requests meanwhile, so a text that can't be a request never reaches it.
 */
export class JsonStructure {
  #depth = 0;
  #members = 0;
  #inString = false;
  #escaped = false;
  #size = 0;
  /** Commas of the present list of links. */
  #commas = 0;
  #isListOver = false;

  /** Positions of every {@link LINKS_PER_TURN}th comma of what looks like the list of links: there the text can be cut. */
  readonly cuts: number[] = [];

  /** Takes the next bytes; throws a 400 as soon as there are too many levels or members. */
  add(bytes: Uint8Array): void {
    let depth = this.#depth;
    let members = this.#members;
    let inString = this.#inString;
    let i = 0;
    if (this.#escaped && bytes.length > 0) {
      this.#escaped = false;
      i = 1;
    }
    for (; i < bytes.length; i += 1) {
      const byte = bytes[i];
      if (inString) {
        if (byte === QUOTE) inString = false;
        else if (byte === BACKSLASH) {
          i += 1;
          this.#escaped = i === bytes.length;
        }
      } else if (byte === QUOTE) inString = true;
      else if (byte === COMMA) {
        members += 1;
        if (depth === LINKS_DEPTH) this.#countLink(i);
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth += 1;
        members += 1;
        if (depth > MAX_DEPTH) {
          throw invalidRequest(`The request body is nested deeper than ${MAX_DEPTH} levels.`);
        }
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (depth === LINKS_DEPTH) this.#endList();
        depth -= 1;
      }
    }
    this.#size += bytes.length;
    this.#depth = depth;
    this.#members = members;
    this.#inString = inString;
    if (members > MAX_MEMBERS) {
      throw invalidRequest(`The request body has more than ${MAX_MEMBERS} fields and elements.`);
    }
  }
  #countLink(at: number): void {
    this.#commas += 1;
    if (this.#commas % LINKS_PER_TURN === 0 && !this.#isListOver) this.cuts.push(this.#size + at);
  }

  #endList(): void {
    this.#commas = 0;
    this.#isListOver = this.cuts.length > 0;
  }
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });
/** A byte order mark may stand at the beginning of the text only. */
const INNER_UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses a JSON text like `JSON.parse`, and a batch in several turns of the event loop, if the text can be cut.
 *
 * @throws a 400 for what isn't JSON in UTF-8
 */
export async function parseJson(bytes: Uint8Array, cuts: readonly number[]): Promise<unknown> {
  const batch = cuts.length > 1 ? await parseInPieces(bytes, cuts) : undefined;
  return batch ?? parseAtOnce(bytes);
}

/** `undefined` when the cuts aren't between the links, or something is wrong with the text: then all of it has to be parsed. */
async function parseInPieces(
  bytes: Uint8Array,
  cuts: readonly number[],
): Promise<object | undefined> {
  const decode = (from: number, to?: number) =>
    (from === 0 ? UTF_8 : INNER_UTF_8).decode(bytes.subarray(from, to));
  // Stands for everything between the first and the last cut.
  const marker = crypto.randomUUID();
  try {
    const [first = 0, last = 0] = [cuts[0], cuts.at(-1)];
    const batch: unknown = JSON.parse(`${decode(0, first)},"${marker}"${decode(last)}`);
    if (!isObject(batch) || !Array.isArray(batch['links'])) return undefined;
    const before = batch['links'].slice(0, LINKS_PER_TURN);
    const after = batch['links'].slice(LINKS_PER_TURN + 1);
    if (batch['links'][LINKS_PER_TURN] !== marker) return undefined;
    const links: unknown[] = before;
    for (let piece = 1; piece < cuts.length; piece += 1) {
      await nextTurn();
      links.push(...JSON.parse(`[${decode((cuts[piece - 1] ?? 0) + 1, cuts[piece])}]`));
    }
    batch['links'] = links.concat(after);
    return batch;
  } catch {
    return undefined;
  }
}

function parseAtOnce(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = UTF_8.decode(bytes);
  } catch {
    throw invalidRequest('The request body is not valid UTF-8.');
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the body, which may hold private URLs.
    throw invalidRequest('The request body is not valid JSON.');
  }
}
