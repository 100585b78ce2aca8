import type { CreateLinkBody } from '@shortlink/sdk';

export interface LinkIdentity {
  /** Target URL and domain. */
  pair: string;
  /** A hash of the pair in 53 bits: numbers are compared much faster than URLs. The texts are compared where it is the same. */
  key: number;
  /** A hash of title and tags, times four, plus a digit for the redirect type: another one where the row was edited. See {@link editedContent}. */
  content: number;
}

/** 302 is what a link has that asks for none. */
const REDIRECT_DIGITS: Readonly<Record<number, number>> = { 301: 1, 307: 3 };

/** What `content` is divided by for a hash of title and tags alone. */
export const REDIRECTS = 4;

export function linkIdentity(link: CreateLinkBody, domain: string | undefined): LinkIdentity {
  const pair = pairOf(link.target_url, link.domain_id ?? domain);
  return { pair, key: hashOf(pair), content: contentOf(link) };
}

/** No valid target URL holds a line feed, so the two can't run into each other. */
export function pairOf(target: string, domain: string | undefined): string {
  return domain === undefined || domain === '' ? target : `${target}\n${domain}`;
}

/** The link of a pair, as far as the pair tells it. */
export function linkOfPair(pair: string): Pick<CreateLinkBody, 'target_url' | 'domain_id'> {
  const [target_url = '', domain_id] = pair.split('\n');
  return { target_url, domain_id };
}

/** Two contents with one hash only hide that a row was edited. */
export function contentOf({ title = '', tags = [], redirect_type }: CreateLinkBody): number {
  let hash = addText(FNV_OFFSET, title);
  for (const tag of tags) hash = addText(hash, tag);
  return (hash >>> 0) * REDIRECTS + (REDIRECT_DIGITS[redirect_type ?? 0] ?? 0);
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** FNV-1a over UTF-16 code units, and an end that no text holds. */
function addText(start: number, text: string): number {
  let hash = start;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME);
  }
  return Math.imul(hash ^ 0x1_0000, FNV_PRIME);
}

/** An integer of 53 bits: two hashes of 32 bits that are computed side by side. */
export function hashOf(text: string): number {
  let low = FNV_OFFSET;
  let high = 0x9747b28c;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, FNV_PRIME);
    high = Math.imul(high ^ unit, 0x5bd1e995);
    high ^= high >>> 15;
  }
  high = Math.imul(high ^ (low >>> 16), 0x2c1b3c6d);
  return ((high ^ (high >>> 13)) >>> 11) * 2 ** 32 + (low >>> 0);
}

/** Hexadecimal digits of `made_for` that stand for target and domain, and for the rest. */
const PAIR_DIGITS = 5;
const CONTENT_DIGITS = 3;
const REDIRECT_SHIFT = 9;

/** Values of the part of `made_for` that stands for title, tags and redirect type. */
export const MADE_VALUES = 16 ** CONTENT_DIGITS;

/** Keys of targets that have one value in `made_for`. */
export const KEYS_OF_MADE = 2 ** (53 - 4 * PAIR_DIGITS);

/** The content of a link whose row was edited in its file: that of the row, and what the link was made with. It is negative, so that no row has it. */
export function editedContent(content: number, made: number): number {
  return -1 - (content * MADE_VALUES + (made % MADE_VALUES));
}

/** What a link was created with, in 32 bits, so that an edited or copied row is noticed in the file itself. */
export function madeNumber({ key, content }: Pick<LinkIdentity, 'key' | 'content'>): number {
  const pair = Math.floor(key / KEYS_OF_MADE);
  const hash = Math.floor(content / REDIRECTS);
  const mixed = hash ^ (hash >>> 12) ^ (hash >>> 24) ^ ((content % REDIRECTS) << REDIRECT_SHIFT);
  const rest = content < 0 ? -1 - content : mixed;
  return pair * MADE_VALUES + (rest & (MADE_VALUES - 1));
}

export function madeFor(identity: Pick<LinkIdentity, 'key' | 'content'>): string {
  return writeMadeFor(madeNumber(identity));
}

export function isWholeMadeFor(cell: string): boolean {
  return /^x?[0-9a-f]{8}$/i.test(cell);
}

/** The number in a cell `made_for`; null where there is none, or a part. Spreadsheets take some for numbers, and drop the zeros before them. */
export function readMadeFor(cell: string): number | null {
  return isWholeMadeFor(cell) || /^\d{1,7}$/.test(cell)
    ? Number.parseInt(cell.replace(/^x/i, ''), 16)
    : null;
}

/** Two digits of each byte: `toString` takes three times as long for a number of 32 bits. */
const BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The cell of such a number. One like 492697e0 begins with an x: a spreadsheet would keep 4.93E+05 of it. */
export function writeMadeFor(made: number): string {
  const digits = `${BYTES[made >>> 24]}${BYTES[(made >>> 16) & 255]}${BYTES[(made >>> 8) & 255]}${BYTES[made & 255]}`;
  return /^\d+e\d+$/.test(digits) ? `x${digits}` : digits;
}

/** The bits of `made_for` that a redirect type changes. A look-up does not tell it. */
export const REDIRECT_BITS = (REDIRECTS - 1) << REDIRECT_SHIFT;

/** How well a row fits the link that its cells name: not at all, its target and domain, or all of it. */
export type Fit = 0 | 1 | 2;

/** Undefined where there is no `made_for`, or a spreadsheet has changed it. */
export function fitOf(identity: LinkIdentity, cell: string): Fit | undefined {
  const made = readMadeFor(cell);
  if (made === null) return undefined;
  const expected = madeNumber(identity);
  if (made === expected) return 2;
  return Math.floor(made / MADE_VALUES) === Math.floor(expected / MADE_VALUES) ? 1 : 0;
}
