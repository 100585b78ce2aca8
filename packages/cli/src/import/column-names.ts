import type { LinkField } from './types.ts';

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

/** The columns there are, for messages: `"URL", "Title" and 3 more`. */
export function listColumns(columns: readonly string[]): string {
  const MAX_LISTED = 20;
  const listed = columns.slice(0, MAX_LISTED).map((name) => JSON.stringify(name));
  const more = columns.length - listed.length;
  return more > 0 ? `${listed.join(', ')} and ${more} more` : listed.join(', ');
}
