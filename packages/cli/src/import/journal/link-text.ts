import type { BatchLinkInput } from '@shortlink/sdk';

/** What identifies the link that a row asks for, and a hash of the rest of it. */
export interface LinkIdentity {
  /** Target URL and domain. */
  pair: string;
  /** A short hash of title, tags and redirect type: another one means that the row was edited. */
  content: string;
}

/** The identity of a link in a request whose default domain is `domain`. */
export function linkIdentity(link: BatchLinkInput, domain: string | undefined): LinkIdentity {
  return { pair: pairOf(link.target_url, link.domain_id ?? domain), content: contentHash(link) };
}

/** No valid target URL holds a line feed, so the two can't run into each other. */
export function pairOf(target: string, domain: string | undefined): string {
  return domain === undefined || domain === '' ? target : `${target}\n${domain}`;
}

/** The link of a pair, as far as the pair tells it. */
export function linkOfPair(pair: string): Pick<BatchLinkInput, 'target_url' | 'domain_id'> {
  const [target_url = '', domain_id] = pair.split('\n');
  return { target_url, domain_id };
}

/** Both in one text, which is how the journal takes them. */
export function linkText({ pair, content }: LinkIdentity): string {
  return content + pair;
}

/** Characters of {@link LinkIdentity.content}: 32 bits in base 36. */
const CONTENT_LENGTH = 7;

/** A hash of several texts, in whichever order they are added. */
export function addHash(sum: number, text: string): number {
  return (sum + addText(0x811c9dc5, text)) >>> 0;
}

/** The hash as it was before {@link addHash} added a text. */
export function removeHash(sum: number, text: string): number {
  return (sum - addText(0x811c9dc5, text)) >>> 0;
}

/** FNV-1a over UTF-16 code units. Two contents with one hash only hide that a row was edited. */
export function contentHash({ title = '', tags = [], redirect_type }: BatchLinkInput): string {
  let hash = addText(0x811c9dc5 ^ (redirect_type ?? 0), title);
  for (const tag of tags) hash = addText(hash, tag);
  return (hash >>> 0).toString(36).padStart(CONTENT_LENGTH, '0');
}

function addText(start: number, text: string): number {
  let hash = start;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return Math.imul(hash ^ 0x1_0000, 0x01000193);
}
