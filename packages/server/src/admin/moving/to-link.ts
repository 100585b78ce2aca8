import { MAX_TAG_LENGTH, MAX_TAGS, MAX_TITLE_LENGTH, REDIRECT_TYPES } from '@shortlink/sdk/wire';
import { isReservedPath } from '../../domain/aliases.ts';
import { normalizeHost } from '../../domain/hostnames.ts';
import { CODE, uuidOf } from '../../domain/ids.ts';
import { type BodyRules, validateLink } from '../../domain/validate-link.ts';
import type { Alias, ImportedLink } from '../../store/operator-store.ts';
import { readAddress } from './address.ts';
import { tagsOf } from './own-format.ts';
import type { SourceRow } from './read-source.ts';
import { OWN, SERVICES, type Service, type SourceName } from './services.ts';

/** What rows are read with. */
export interface Reading {
  from: SourceName;
  rules: BodyRules;
  /** The id of the domain of each host that the account's links can be on; `''` is the default one. */
  domains: ReadonlyMap<string, string>;
  /** `--host OLD=OURS`, normalised. An empty OLD stands for paths without a host. */
  hosts: ReadonlyMap<string, string>;
  now: number;
  /** Counts what can't be kept as it is. */
  lost: (what: string) => void;
}

/** Own exports under the names of their columns, which are those of a service in every other respect. */
const OWN_COLUMNS: Service = {
  ...{ marks: [], target: ['targeturl'], addresses: ['aliases'], title: ['title'], tags: ['tags'] },
  ...{ clicks: ['clickcount'], created: ['createdat'], redirectType: ['redirecttype'] },
};

/** @throws Error whose message says what is wrong with the row */
export function toLink(row: SourceRow, reading: Reading): ImportedLink {
  const isOwn = reading.from === OWN;
  const service: Service = isOwn ? OWN_COLUMNS : SERVICES[reading.from as keyof typeof SERVICES];
  const value = (names: readonly string[] = []) =>
    names.map((name) => row.values.get(name)).find((found) => found !== undefined && found !== '');
  const text = (names?: readonly string[]) => String(value(names) ?? '');
  const created_at = timeOf(value(service.created), reading.now);
  const own = isOwn ? ownFields(row, reading) : undefined;
  const aliases = own?.aliases ?? addressesOf(row, service, reading);
  if (own === undefined && aliases.length === 0) throw new Error('it has no short URL');
  const title = text(service.title);
  const fields = {
    target_url: isOwn ? text(service.target) : text(service.target).trim(),
    title: isOwn ? title : cut(title, reading),
    tags: isOwn ? ownTags(value(service.tags)) : kept(tagList(value(service.tags)), reading),
    redirect_type: redirectType(value(service.redirectType), reading),
  };
  const domain_id = own?.domain_id ?? (aliases[0]?.domain_id || null);
  const rules = { ...reading.rules, defaultDomainId: null };
  const checked = validateLink({ ...fields, ...(domain_id !== null && { domain_id }) }, rules);
  if (!checked.ok) throw new Error(checked.details[0]?.message);
  return {
    ...checked.value,
    id: own?.id ?? uuidOf(created_at),
    code: own?.code,
    is_active: own?.is_active ?? !isTrue(value(service.off)),
    click_count: clicksOf(value(service.clicks)),
    created_at,
    aliases,
  };
}

function ownFields({ values }: SourceRow, reading: Reading) {
  const text = (name: string) => String(values.get(name) ?? '');
  const [code, id] = [text('code'), text('id')];
  if (!CODE.test(code)) throw new Error(`${JSON.stringify(code)} is no code of this service`);
  if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(id)) throw new Error('its id is no UUID');
  const aliases = values.get('aliases');
  const list: unknown[] = Array.isArray(aliases) ? aliases : String(aliases ?? '').split(' ');
  return {
    ...{ code, id, is_active: isTrue(text('isactive')) },
    domain_id: text('domain') === '' ? null : domainOf(text('domain'), reading) || null,
    aliases: list.filter((alias) => alias !== '').map((alias) => aliasOf(String(alias), reading)),
  };
}

/** Every address of the row, each once. */
function addressesOf({ values }: SourceRow, service: Service, reading: Reading): Alias[] {
  const listed = service.addresses.flatMap((name) => values.get(name) ?? []);
  const given = listed.flatMap((value) => (Array.isArray(value) ? value : jsonList(String(value))));
  const urls = given.map((value) => String(value).trim()).filter((value) => value !== '');
  if (urls.length === 0) {
    const first = (names: readonly string[] = []) =>
      names.map((name) => values.get(name)).find((value) => value !== undefined);
    const path = first(service.path);
    // Some exports have the address of the domain itself, which is no link.
    if (path !== undefined && path !== null && path !== '') {
      urls.push(`${String(first(service.host) ?? '')}/${String(path)}`);
    }
  }
  const aliases = urls.map((url) => aliasOf(url, reading));
  return [...new Map(aliases.map((alias) => [alias.domain_id + alias.path, alias])).values()];
}

/** The texts of a list as JSON, which is how a list stands in a cell; else the text itself. */
function jsonList(text: string): unknown[] {
  if (!text.startsWith('[')) return [text];
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list : [text];
  } catch {
    return [text];
  }
}

/** The alias of an old address. */
function aliasOf(address: string, reading: Reading): Alias {
  const shown = JSON.stringify(address);
  const { authority, path, hasQuery } = readAddress(address);
  if (path === undefined) throw new Error(`its address ${shown} is too long, or no valid Unicode`);
  if (hasQuery) throw new Error(`its address ${shown} has a query, which is no alias`);
  if (isReservedPath(path)) throw new Error(`its address ${shown} is one of the service itself`);
  return { domain_id: domainOf(authority, reading), path };
}

/** A host where no link of the account can be; said once for all rows that have it. */
export class UnknownHost extends Error {
  readonly host: string;

  /** @param ours - What `--host` gives for it, if anything. */
  constructor(host: string, ours: string | undefined) {
    super(unknownHost(host, ours));
    this.host = host;
  }
}

function unknownHost(host: string, ours: string | undefined): string {
  if (ours !== undefined) {
    return `${ours}, from --host ${host}=${ours}, is no host of this account: add it with domains add`;
  }
  return host === ''
    ? 'its address has a path only; --host =HOST says on which host of yours it shall be'
    : `${host} is no host of this account: add it with domains add, or give --host ${host}=HOST`;
}

function domainOf(authority: string, { hosts, domains }: Reading): string {
  // Most are written as they are stored.
  const known = hosts.size === 0 ? domains.get(authority) : undefined;
  if (known !== undefined) return known;
  const host = authority === '' ? '' : (normalizeHost(authority) ?? authority);
  const ours = hosts.get(host);
  const domain = domains.get(ours ?? host);
  if (domain === undefined) throw new UnknownHost(host, ours);
  return domain;
}

/** Texts, or objects with a name, which is how some APIs list tags. */
function tagList(value: unknown): string[] {
  const list = Array.isArray(value) ? value : jsonList(String(value ?? ''));
  const texts = list.map((tag) =>
    typeof tag === 'object' && tag !== null && 'name' in tag ? String(tag.name) : String(tag),
  );
  const parts = Array.isArray(value) ? texts : texts.flatMap((text) => text.split(/[,;|]/));
  return [...new Set(parts.map((tag) => tag.trim()).filter((tag) => tag !== ''))];
}

function ownTags(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : tagsOf(String(value ?? ''));
}

function kept(tags: readonly string[], { lost }: Reading): string[] {
  const fitting = tags.filter((tag) => tag.length <= MAX_TAG_LENGTH).slice(0, MAX_TAGS);
  if (fitting.length < tags.length)
    lost(`tags beyond ${MAX_TAGS}, or with more than ${MAX_TAG_LENGTH} characters`);
  return fitting;
}

function cut(title: string, { lost }: Reading): string {
  if (title.length <= MAX_TITLE_LENGTH) return title;
  lost(`the rest of titles with more than ${MAX_TITLE_LENGTH} characters`);
  return title.slice(0, MAX_TITLE_LENGTH).toWellFormed();
}

function redirectType(value: unknown, { lost }: Reading) {
  const type = REDIRECT_TYPES.find((known) => String(known) === String(value));
  if (type === undefined && value !== undefined && value !== null) {
    lost(`redirect types other than ${REDIRECT_TYPES.join(', ')}`);
  }
  return type;
}

function clicksOf(value: unknown): number {
  const text = String(value ?? 0).replace(/[,\s]/g, '');
  const clicks = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(clicks)) throw new Error(`its clicks are ${JSON.stringify(value)}`);
  return clicks;
}

function isTrue(value: unknown): boolean {
  return /^(?:true|1|yes)$/i.test(String(value ?? ''));
}

/** A time as services write it: ISO 8601, in UTC where it names no zone, or seconds or milliseconds since the epoch. */
function timeOf(value: unknown, now: number): number {
  const text = String(value ?? '').trim();
  if (text === '') return now;
  if (/^\d{10}(?:\d{3})?$/.test(text)) return Number(text.padEnd(13, '0'));
  const isPlain = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?$/.test(text);
  const time = Date.parse(isPlain ? `${text.replace(' ', 'T')}Z` : text);
  if (Number.isNaN(time)) throw new Error(`its creation time is ${JSON.stringify(text)}`);
  return time;
}
