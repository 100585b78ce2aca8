import { CommandFailed } from '../command.ts';
import type { Source } from './read-source.ts';

/**
 * What an export may say of a link. All whole `addresses` count; `host` and `path` are for those where the address is in two columns, or has
 * no host. `off`: whether a link is switched off, its state, or the time at which that was done; an archived link is only out of sight, and
 * goes on redirecting. `begins` and `ends` are times, `maxVisits` is a limit, `password` may be only whether it has one, and `others` are
 * targets for some visitors.
 */
export type Field =
  | ('target' | 'addresses' | 'host' | 'path' | 'title' | 'tags' | 'clicks' | 'created')
  | ('off' | 'begins' | 'ends' | 'maxVisits' | 'password' | 'redirectType' | 'others');

/** The columns of each field, as `columnKey` writes them, with spaces between them. The first that a row has counts. */
interface Service extends Partial<Record<Field, string>> {
  /** Columns by which `--from auto` recognises it: any of these sets. */
  marks: readonly string[];
}

const created = 'createdat datecreated created timestamp';
const usual = { title: 'title', tags: 'tags', clicks: 'clicks totalclicks', created };

/** The services whose exports are read: CSV files and the JSON of their APIs. `auto` takes the first one that fits. */
export const SERVICES = {
  shortio: {
    ...usual,
    marks: ['originalurl path', 'originalurl shorturl', 'originalurl secureshorturl'],
    target: 'originalurl',
    addresses: 'secureshorturl shorturl',
    host: 'domain hostname',
    path: 'path',
    ends: 'expiresat',
    maxVisits: 'clickslimit',
    password: 'password passwordcontact haspassword',
    redirectType: 'redirecttype',
    others: 'iphoneurl androidurl spliturl',
  },
  rebrandly: {
    ...usual,
    marks: ['slashtag destination', 'slashtag destinationurl'],
    target: 'destination destinationurl',
    addresses: 'shorturl shortlink',
    host: 'domainname domainfullname domain',
    path: 'slashtag',
    off: 'status',
  },
  bitly: {
    ...usual,
    marks: ['longurl link', 'longurl bitlink', 'longurl custombitlinks', 'link destinationurl'],
    target: 'longurl destinationurl',
    addresses: 'link bitlink custombitlinks customlink',
    clicks: 'clicks totalclicks engagements totalengagements',
    others: 'deeplinks',
  },
  dub: {
    ...usual,
    marks: ['shortlink url', 'shortlink destinationurl', 'domain key url'],
    target: 'url destinationurl',
    addresses: 'shortlink',
    host: 'domain',
    path: 'key',
    off: 'disabledat',
    ends: 'expiresat',
    password: 'password',
    others: 'geo ios android testvariants',
  },
  kutt: {
    marks: ['address target', 'target visitcount'],
    target: 'target',
    addresses: 'link',
    host: 'domain',
    path: 'address',
    title: 'description',
    clicks: 'visitcount',
    created,
    off: 'banned',
    ends: 'expirein',
    password: 'password',
  },
  shlink: {
    ...usual,
    marks: ['shorturl longurl', 'shortcode longurl'],
    target: 'longurl',
    addresses: 'shorturl',
    host: 'domain',
    path: 'shortcode',
    clicks: 'visitssummarytotal visitscount visits',
    begins: 'metavalidsince validsince',
    ends: 'metavaliduntil validuntil',
    maxVisits: 'metamaxvisits maxvisits',
    others: 'hasredirectrules devicelongurlsandroid devicelongurlsios devicelongurlsdesktop',
  },
  yourls: {
    ...usual,
    marks: ['keyword url', 'shorturl url timestamp', 'source target hits'],
    target: 'url target',
    addresses: 'shorturl',
    path: 'keyword source',
    clicks: 'clicks hits',
  },
  shortlink: {
    ...usual,
    marks: ['code targeturl clickcount createdat aliases'],
    target: 'targeturl',
    addresses: 'aliases',
    host: 'shorturl domain',
    clicks: 'clickcount',
    redirectType: 'redirecttype',
  },
} as const satisfies Record<string, Service>;

export type SourceName = keyof typeof SERVICES;

export const SOURCES = Object.keys(SERVICES) as SourceName[];

export type Fields = Partial<Record<Field, readonly string[]>>;

/** How a file is read: as an export of the service that `from` says, or that its columns do. @throws CommandFailed for an unknown service */
export function formatOf({ name, columns }: Named, from: SourceName | 'auto') {
  const hasAll = (mark: string) => mark.split(' ').every((column) => columns.has(column));
  const known = SOURCES.find((service) => SERVICES[service].marks.some(hasAll));
  const service = from === 'auto' ? known : from;
  if (service === undefined) {
    throw new CommandFailed(
      `${name}: its columns are those of no known service (${[...columns].join(', ')}); say which it is: --from ${SOURCES.join('|')}, or rename the columns of addresses and targets to link and long_url`,
    );
  }
  const { marks, ...named }: Service = SERVICES[service];
  const fields: Fields = Object.fromEntries(
    Object.entries(named).map(([field, names]) => [field, names.split(' ')]),
  );
  // Own exports have more than those of others: codes and ids.
  return { service, fields, isOwn: service === 'shortlink' };
}

export type Format = ReturnType<typeof formatOf>;

type Named = Pick<Source, 'name' | 'columns'>;

/** What an export may lack, and what is taken instead. */
const LACKS = {
  title: 'titles',
  tags: 'tags',
  clicks: 'clicks (they begin at 0)',
  created: 'creation times (they are now)',
  off: 'states (all links are active)',
  redirectType: 'redirect types (they are 302)',
  host: 'hosts (all links are on the default domain)',
} satisfies Partial<Record<Field, string>>;

export function describe({ name, columns }: Named, { service, fields, isOwn }: Format): string {
  const lacking = Object.entries(LACKS).flatMap(([field, words]) => {
    // An own export without states is refused, and one of others has its hosts in the addresses, or is refused.
    if (field === (isOwn ? 'off' : 'host')) return [];
    const where = field === 'off' ? (['off', 'ends', 'password'] as const) : [field as Field];
    return where.some((one) => fields[one]?.some((column) => columns.has(column))) ? [] : words;
  });
  const without = lacking.length === 0 ? '' : `, without ${lacking.join(', ')}`;
  return `${name}: an export of ${isOwn ? 'this service' : service}${without}`;
}
