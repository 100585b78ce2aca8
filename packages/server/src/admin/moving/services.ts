/** Where an export has what is kept of a link. Names are written as `columnKey` does; the first that a row has counts. */
export interface Service {
  /** Columns by which `--from auto` recognises it: any of these sets. */
  marks: readonly (readonly string[])[];
  target: readonly string[];
  /** Whole addresses of the link: all of them count. */
  addresses: readonly string[];
  /** Where the address is in two columns, or has no host at all. */
  host?: readonly string[];
  path?: readonly string[];
  title?: readonly string[];
  tags?: readonly string[];
  clicks?: readonly string[];
  created?: readonly string[];
  /** True for a link that is switched off. */
  off?: readonly string[];
  redirectType?: readonly string[];
}

const created = ['createdat', 'datecreated', 'created', 'timestamp'];
const usual = { title: ['title'], tags: ['tags'], clicks: ['clicks', 'totalclicks'], created };

/**
 * The services whose exports are read: their CSV files and the JSON of their APIs. `auto` takes the first one that fits. Own exports are
 * in `own-format.ts`.
 */
export const SERVICES = {
  shortio: {
    ...usual,
    marks: [
      ['originalurl', 'path'],
      ['originalurl', 'shorturl'],
      ['originalurl', 'secureshorturl'],
    ],
    target: ['originalurl'],
    addresses: ['secureshorturl', 'shorturl'],
    host: ['domain', 'hostname'],
    path: ['path'],
    off: ['archived'],
    redirectType: ['redirecttype'],
  },
  rebrandly: {
    ...usual,
    marks: [
      ['slashtag', 'destination'],
      ['slashtag', 'destinationurl'],
    ],
    target: ['destination', 'destinationurl'],
    addresses: ['shorturl', 'shortlink'],
    host: ['domainname', 'domainfullname', 'domain'],
    path: ['slashtag'],
  },
  bitly: {
    ...usual,
    marks: [
      ['longurl', 'link'],
      ['longurl', 'bitlink'],
      ['longurl', 'custombitlinks'],
    ],
    target: ['longurl'],
    addresses: ['link', 'bitlink', 'custombitlinks'],
    clicks: ['clicks', 'totalclicks', 'engagements', 'totalengagements'],
    off: ['archived'],
  },
  dub: {
    ...usual,
    marks: [
      ['shortlink', 'url'],
      ['shortlink', 'destinationurl'],
      ['domain', 'key', 'url'],
    ],
    target: ['url', 'destinationurl'],
    addresses: ['shortlink'],
    host: ['domain'],
    path: ['key'],
    off: ['archived'],
  },
  kutt: {
    marks: [
      ['address', 'target'],
      ['target', 'visitcount'],
    ],
    target: ['target'],
    addresses: ['link'],
    host: ['domain'],
    path: ['address'],
    title: ['description'],
    clicks: ['visitcount'],
    created,
    off: ['banned'],
  },
  shlink: {
    ...usual,
    marks: [
      ['shorturl', 'longurl'],
      ['shortcode', 'longurl'],
    ],
    target: ['longurl'],
    addresses: ['shorturl'],
    host: ['domain'],
    path: ['shortcode'],
    clicks: ['visitssummarytotal', 'visitscount', 'visits'],
  },
  yourls: {
    ...usual,
    marks: [
      ['keyword', 'url'],
      ['shorturl', 'url', 'timestamp'],
      ['source', 'target', 'hits'],
    ],
    target: ['url', 'target'],
    addresses: ['shorturl'],
    path: ['keyword', 'source'],
    clicks: ['clicks', 'hits'],
  },
} as const satisfies Record<string, Service>;

export type ServiceName = keyof typeof SERVICES;

/** Own exports, and what they are recognised by. */
export const OWN = 'shortlink';
const OWN_MARK = ['code', 'targeturl', 'clickcount', 'createdat', 'aliases'];

export const SOURCES = [...(Object.keys(SERVICES) as ServiceName[]), OWN] as const;
export type SourceName = (typeof SOURCES)[number];

/** Whose export has these columns. */
export function recognise(columns: ReadonlySet<string>): SourceName | undefined {
  const hasAll = (mark: readonly string[]) => mark.every((name) => columns.has(name));
  if (hasAll(OWN_MARK)) return OWN;
  const services: [string, Service][] = Object.entries(SERVICES);
  const found = services.find(([, { marks }]) => marks.some(hasAll));
  return SOURCES.find((name) => name === found?.[0]);
}
