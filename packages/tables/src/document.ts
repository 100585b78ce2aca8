import { parseExactly } from './cells.ts';
import { decodeFile } from './decode.ts';
import { inputError } from './errors.ts';
import type { Input } from './open-input.ts';

/** Longest JSON document, in characters: all of it is in memory. */
const MAX_MB = 32;
const MAX_LENGTH = MAX_MB * 1024 * 1024;

const AS_LINES = "make lines of all links, such as with jq -c '.links[]'";

/** Fields of documents that hold the links: of Bitly, Short.io and Sink; of Kutt; of Shlink. */
const LISTS = ['links', 'data', 'shortUrls'];

/** How a page of an API begins: with such a field, before which there are numbers and the like at most. */
const PAGE = /^\{\s*(?:"\w+"\s*:\s*[\w".-]+\s*,\s*)*"(?:links|data|shortUrls)"\s*:\s*[[{]/;

/** What a document says about the links that other pages have. */
export interface Page {
  /** Links of all pages. */
  total?: number | undefined;
  /** Whether another page follows this one. */
  hasNext: boolean;
}

/**
 * An input that is one JSON document: a list of links, also in one of the fields that APIs have it in. Undefined for any other input.
 * @throws InputError for several documents in one file, and for one that is too long
 */
export async function readDocument(
  input: Input,
  encoding?: string,
): Promise<({ links: object[] } & Page) | undefined> {
  const { name } = input;
  const text = await documentText(input, encoding);
  // An account without links is exported as no lines.
  if (text === '') return { links: [], hasNext: false };
  if (text === undefined) return undefined;
  let document: unknown;
  try {
    document = parseExactly(text);
  } catch {
    // JSON Lines.
    if (!PAGE.test(text)) return undefined;
    throw inputError(
      `${name} is not one JSON document. Name each page as a file of its own, or ${AS_LINES}`,
    );
  }
  const links = listIn(document);
  return links && { links, ...pageIn(document) };
}

/** What Bitly, Kutt, Shlink, Short.io and YOURLS say about the pages of a list. */
function pageIn(document: unknown): Page {
  const fields = (value: unknown, name: string) => {
    const inner = isObject(value) ? new Map(Object.entries(value)).get(name) : undefined;
    return isObject(inner) ? inner : {};
  };
  const whole = Array.isArray(document) ? {} : Object(document);
  const list = { ...fields(whole, 'shortUrls'), ...whole };
  const about = { ...list, ...fields(list, 'pagination'), ...fields(list, 'stats') };
  const { next, nextPageToken, total = about.totalItems ?? about.total_links } = about;
  // A number such as `2.0` is an object that keeps its digits.
  const number = (value: unknown) => Number(JSON.stringify(value)?.replaceAll('"', ''));
  return {
    total: number(total) || undefined,
    hasNext: Boolean(next || nextPageToken) || number(about.currentPage) < number(about.pagesCount),
  };
}

/** All of a text that could be a JSON document; undefined for any other, and for long lines, of which little is read. */
async function documentText(
  { path, name, size, packing }: Input,
  encoding: string | undefined,
): Promise<string | undefined> {
  if (packing === 'xlsx') return undefined;
  const pieces: string[] = [];
  let length = 0;
  for await (const piece of decodeFile(path, { name, packing, encoding })) {
    const text = length === 0 ? piece.trimStart() : piece;
    if (length === 0 && /^[^[{]/.test(text)) return undefined;
    pieces.push(text);
    length += text.length;
    if (length === 0 || Math.max(length, size) <= MAX_LENGTH) continue;
    const begun = pieces.join('');
    if (!begun.startsWith('[') && !PAGE.test(begun)) return undefined;
    throw inputError(`${name} is a JSON document of more than ${MAX_MB} MB: ${AS_LINES}`);
  }
  return pieces.join('').trimEnd();
}

function listIn(document: unknown): object[] | undefined {
  if (Array.isArray(document)) return document.every(isObject) ? document : undefined;
  if (!isObject(document)) return undefined;
  const fields = new Map<string, unknown>(Object.entries(document));
  const inner = LISTS.map((name) => fields.get(name)).find((value) => value !== undefined);
  if (inner === undefined) return undefined;
  // YOURLS numbers its links: link_1, link_2 and so on.
  const isNumbered = isObject(inner) && 'link_1' in inner;
  return listIn(isNumbered ? Object.values(inner) : inner);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
