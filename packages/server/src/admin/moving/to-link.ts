import { MAX_TAG_LENGTH, MAX_TAGS, MAX_TITLE_LENGTH, REDIRECT_TYPES } from '@shortlink/sdk/wire';
import { cleanTags } from '@shortlink/tables';
import { isReservedPath } from '../../domain/aliases.ts';
import { normalizeHost } from '../../domain/hostnames.ts';
import { CODE, uuidOf } from '../../domain/ids.ts';
import { isObject, type LinkRules, validateLink } from '../../domain/validate-link.ts';
import type { Alias, ImportedLink } from '../../store/operator-store.ts';
import type { Domain } from '../../store/store.ts';
import { parsedJson } from '../output.ts';
import { readAddress } from './address.ts';
import { tagsOf } from './own-format.ts';
import type { SourceRow } from './read-source.ts';
import type { Field, Fields } from './services.ts';

/** All that a row has for a field, in the order of its columns. */
type ValuesOf = (field: Field) => unknown[];

export interface Reading {
  fields: Fields;
  isOwn: boolean;
  rules: LinkRules;
  accountId: string;
  /** Each host that links can be on: the account whose links they are, and the id of the domain, `''` for the default one. */
  domains: ReadonlyMap<string, Pick<Domain, 'id' | 'account_id'>>;
  /** `--host OLD=OURS`, normalised. An empty OLD stands for paths without a host. */
  hosts: ReadonlyMap<string, string>;
  /** What to do about a host that nobody has. */
  toAdd: string;
  now: number;
  /** Counts what can't be kept as it is. */
  lost: (what: string) => void;
}

/** @throws Error whose message says what is wrong with the row; where a host is, that is its cause */
export function toLink({ values }: SourceRow, reading: Reading): ImportedLink {
  const { fields, isOwn, rules, now } = reading;
  const all: ValuesOf = (field) =>
    (fields[field] ?? []).map((name) => values.get(name)).filter((value) => (value ?? '') !== '');
  const value = (field: Field) => all(field)[0];
  const text = (field: Field) => String(value(field) ?? '');
  const created_at = createdAt(value('created'), now);
  const own = isOwn ? ownFields(values, reading) : undefined;
  const aliases = addressesOf(all, reading);
  if (own === undefined && aliases.length === 0) throw new Error('it has no short URL');
  const [target, title, tags] = [text('target'), text('title'), value('tags')];
  const input = {
    target_url: isOwn ? target : target.trim(),
    title: isOwn ? title : cut(title, reading),
    tags: isOwn ? ownTags(tags) : kept(tagList(tags), reading),
    redirect_type: redirectType(value('redirectType'), reading),
  };
  return {
    ...validateLink(input, rules),
    domain_id: (own ?? aliases[0])?.domain_id || null,
    id: own?.id ?? uuidOf(created_at),
    code: own?.code,
    is_active: own?.is_active ?? isActive(all, reading),
    click_count: clicksOf(value('clicks')),
    created_at,
    aliases,
  };
}

/** What only own exports have. */
function ownFields(values: SourceRow['values'], reading: Reading) {
  const text = (name: string) => String(values.get(name) ?? '');
  const [code, id, short_url] = [text('code'), text('id'), text('shorturl')];
  const host = short_url === '' ? text('domain') : readAddress(short_url).authority;
  if (!CODE.test(code)) throw new Error(`${JSON.stringify(code)} is no code of this service`);
  if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(id)) throw new Error('its id is no UUID');
  const domain_id = host === '' ? '' : domainOf(host, reading);
  const [is_active, isOn] = [text('isactive'), /^(?:true|1|yes)$/i];
  if (!isOn.test(is_active) && !/^(?:false|0|no)$/i.test(is_active)) {
    throw new Error(`its is_active is ${JSON.stringify(is_active)}`);
  }
  return { code, id, is_active: isOn.test(is_active), domain_id };
}

/** Every address of the row, each once. Several in one cell of another service begin with their scheme. */
function addressesOf(all: ValuesOf, reading: Reading): Alias[] {
  const separator = reading.isOwn ? ' ' : /[\s,;|]+(?=https?:)/i;
  const lists = all('addresses').flatMap((list) => listOf(list, separator));
  const addresses = lists.map((address) => String(address).trim()).filter((text) => text !== '');
  // Some exports have the address of the domain itself, which is no link.
  const [host = ''] = all('host');
  const [path] = all('path');
  if (addresses.length === 0 && path !== undefined) addresses.push(`${host}/${path}`.trim());
  const aliases = addresses.map((address) => aliasOf(address, reading));
  return [...new Map(aliases.map((alias) => [alias.domain_id + alias.path, alias])).values()];
}

/** A list, also as JSON in a cell; any other text is cut at a separator, if there is one. */
function listOf(value: unknown, separator: string | RegExp): unknown[] {
  if (Array.isArray(value)) return value;
  const text = String(value);
  const list: unknown = text.startsWith('[') ? parsedJson(text) : undefined;
  if (Array.isArray(list)) return list;
  return text.split(separator);
}

function aliasOf(address: string, reading: Reading): Alias {
  const shown = JSON.stringify(address);
  const { authority, path, hasQuery } = readAddress(address);
  if (path === undefined) throw new Error(`its address ${shown} is too long, or no valid Unicode`);
  if (hasQuery) throw new Error(`its address ${shown} has a query, which is no alias`);
  const domain_id = domainOf(authority, reading);
  if (isReservedPath(path)) throw new Error(`its address ${shown} is one of the service itself`);
  return { domain_id, path };
}

/** A host where no link of the account can be. It is the error's cause, since it is said once for all rows that have it. */
function unknownHost(host: string, ours: string | undefined, todo: string): Error {
  const path = 'its address has a path only; --host =HOST says on which host of yours it shall be';
  const unknown = `${host} is no host of this account: ${todo}, or give --host ${host}=HOST`;
  const wrong = `${ours}, from --host ${host}=${ours}, is no host of this account: ${todo}`;
  const message = ours !== undefined ? wrong : host === '' ? path : unknown;
  return new Error(message, { cause: host });
}

function domainOf(authority: string, { hosts, domains, accountId, toAdd }: Reading): string {
  // Most are written as they are stored.
  const known = hosts.size === 0 ? domains.get(authority) : undefined;
  if (known?.account_id === accountId) return known.id;
  const host = authority === '' ? '' : (normalizeHost(authority) ?? authority);
  const ours = hosts.get(host);
  const domain = domains.get(ours ?? host);
  if (domain?.account_id === accountId) return domain.id;
  throw unknownHost(host, ours, domain ? `account ${domain.account_id} has it (--account)` : toAdd);
}

/** Texts, or objects with a name, which is how some APIs list tags. */
function tagList(value: unknown): string[] {
  const nameOf = (tag: unknown) => String(isObject(tag) && 'name' in tag ? tag['name'] : tag);
  return [...new Set(cleanTags(listOf(value ?? '', /[,;|]/).map(nameOf)))];
}

const ownTags = (value: unknown) =>
  Array.isArray(value) ? value.map(String) : tagsOf(String(value ?? ''));

function kept(tags: readonly string[], { lost }: Reading): string[] {
  const fitting = tags.filter((tag) => tag.length <= MAX_TAG_LENGTH).slice(0, MAX_TAGS);
  if (fitting.length < tags.length)
    lost(`tags beyond ${MAX_TAGS}, or with more than ${MAX_TAG_LENGTH} characters`);
  return fitting;
}

function cut(title: string, { lost }: Reading): string {
  if (title.length <= MAX_TITLE_LENGTH) return title;
  lost(`the rest of titles with more than ${MAX_TITLE_LENGTH} characters`);
  // Half of a character at the end is a surrogate without its other half.
  return title
    .slice(0, MAX_TITLE_LENGTH)
    .replace(/\p{Cs}$/u, '')
    .toWellFormed();
}

function redirectType(value: unknown, { lost }: Reading) {
  const type = REDIRECT_TYPES.find((known) => String(known) === String(value));
  if (type === undefined && value !== undefined)
    lost(`redirect types other than ${REDIRECT_TYPES.join(', ')}`);
  return type;
}

function clicksOf(value: unknown): number {
  const text = String(value ?? 0).trim();
  // Thousands may be apart.
  if (!/^(?:\d{1,15}|\d{1,3}(?:[,\s]\d{3}){1,4})$/.test(text)) {
    throw new Error(`its clicks are ${JSON.stringify(value)}`);
  }
  return Number(text.replace(/\D/g, ''));
}

/** A state in which a link leads nowhere, or the time since which it does. */
const OFF = /^(?:true|t|1|yes|disabled|inactive|\d{4}-.*|\d{10,})$/i;

const isSet = (value: unknown) =>
  !/^(?:false|f|0|no|null|active|)$/i.test(String(value ?? '').trim());

/** Whether a link leads anywhere today. One behind a password must not be open to everybody. */
function isActive(all: ValuesOf, { now, lost }: Reading): boolean {
  const [begins, ends] = [all('begins')[0], all('ends')[0]];
  const [off, most] = [all('off')[0], all('maxVisits')[0]];
  // An export may have several columns for these. Any of them counts.
  const [hasPassword, hasOthers] = [all('password').some(isSet), all('others').some(isSet)];
  const isEarly = isSet(begins) && timeOf(begins, now) > now;
  const hasEnded =
    (isSet(ends) && timeOf(ends, now) <= now) ||
    (isSet(most) && clicksOf(all('clicks')[0]) >= Number(most));
  if (isEarly) lost('the times at which links begin, so that they are switched off');
  if (isSet(ends) && !hasEnded) lost('the times at which links end');
  if (isSet(most) && !hasEnded) lost('limits of visits');
  if (hasOthers) lost('targets for some countries, devices or visitors');
  if (hasPassword) lost('passwords, so that their links are switched off');
  if (isSet(off) && !OFF.test(String(off)))
    lost('states that are not known, so that their links are switched off');
  return !isSet(off) && !isEarly && !hasEnded && !hasPassword;
}

/** ISO 8601, also as databases write it: with a blank, and a zone of hours alone. */
const ISO =
  /^(\d{4})[-/](\d\d)[-/](\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s*(Z|UTC|GMT|([+-]\d\d):?(\d\d)?)?)?$/i;

/** Other days are clear by the name of their month only. */
const MONTH = /\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/i;

/** A year may have a dash before it, so that digits behind one are a zone only where a time or a blank comes first. */
const ZONE =
  /(?:\bZ|(?:UTC|GMT|(?<=\s|[:.]\d+|[ap]m))[+-]\d\d:?\d\d|UTC|GMT|\b[ECMP][SD]T)(?:\s*\(.*\))?$/i;

const DAY_MS = 86_400_000;

/** A time as services write it, in UTC where it names no zone, or seconds or milliseconds since the epoch. */
function timeOf(value: unknown, now: number): number {
  const text = String(value ?? '').trim();
  if (text === '') return now;
  if (/^\d{10}(?:\d{3})?$/.test(text)) return Number(text.padEnd(13, '0'));
  const [, year, month, day, clock = '00:00', , hours, minutes = '00'] = ISO.exec(text) ?? [];
  let time = Number.NaN;
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  if (day !== undefined && Number(day) <= lastDay) {
    const zone = hours === undefined ? 'Z' : `${hours}:${minutes}`;
    time = Date.parse(`${year}-${month}-${day}T${clock}${zone}`);
  } else if (MONTH.test(text)) {
    const there = Date.parse(`${text.replace(ZONE, '')} UTC`);
    const numbers = text.split(/\d+:/)[0]?.match(/\d+/g) ?? [];
    // The 30th of February would be a day of March.
    const isDay = numbers.some((number) => Number(number) === new Date(there).getUTCDate());
    if (isDay) time = ZONE.test(text) ? Date.parse(text) : there;
  }
  if (Number.isNaN(time)) {
    throw new Error(
      `${JSON.stringify(text)} is no time, or not clear; write it as 2022-10-24T10:40:37Z`,
    );
  }
  return time;
}

/** A time in the future would be that of the newest link for ever. Clocks and zones may differ by a day. */
function createdAt(value: unknown, now: number): number {
  const time = timeOf(value, now);
  if (time > now + DAY_MS) throw new Error(`it was created in the future: ${String(value)}`);
  return time;
}
