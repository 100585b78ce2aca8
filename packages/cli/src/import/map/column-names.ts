import type { LinkField } from '../types.ts';

/** A column's name as names are compared: lower case, letters and digits only. */
export function columnKey(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Usual names of the columns that fill each field, best first. `link` comes last: other services export the short URL
 * under it (Bitly, Dub), so it counts only where nothing better stands.
 */
export const ALIASES: Readonly<Record<LinkField, readonly string[]>> = {
  target_url: [
    'targeturl',
    'longurl',
    'destinationurl',
    'originalurl',
    'longlink',
    'destination',
    'destinationlink',
    'originallink',
    'redirecturl',
    'fullurl',
    'target',
    'url',
    'urls',
    'uri',
    'website',
    'webaddress',
    'href',
    'link',
  ],
  title: ['title', 'linktitle', 'pagetitle', 'name'],
  tags: ['tags', 'tag', 'labels', 'label'],
  domain_id: ['domainid'],
  redirect_type: ['redirecttype', 'redirectcode', 'redirectstatus'],
};

/** Columns that hold the short link itself: a file that has one lists links that exist at some service. */
const SHORT_LINK_COLUMNS: ReadonlySet<string> = new Set([
  'shorturl',
  'shortlink',
  'shortcode',
  'bitlink',
  'slashtag',
  'keyword',
  'idstring',
]);

/** Whether the header is that of an export of another service. */
export function isForeignExport(columns: readonly string[]): boolean {
  return columns.some((name) => SHORT_LINK_COLUMNS.has(columnKey(name)));
}

/** The columns there are, for messages: `"URL", "Title" and 3 more`. */
export function listColumns(columns: readonly string[]): string {
  const MAX_LISTED = 20;
  const listed = columns.slice(0, MAX_LISTED).map((name) => JSON.stringify(name));
  const more = columns.length - listed.length;
  return more > 0 ? `${listed.join(', ')} and ${more} more` : listed.join(', ');
}

/** The candidate that is likely meant by a mistyped word, or undefined when none is near. Case is ignored. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  // A third of the letters may differ: more, and the suggestion is a guess.
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein distance, one row of the table at a time. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 0; i < a.length; i += 1) {
    const current = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const substitution = (previous[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      current.push(Math.min(substitution, (previous[j + 1] ?? 0) + 1, (current[j] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
