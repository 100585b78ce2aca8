import * as wire from '@shortlink/sdk/wire';
import { DELIMITER, ENCODING } from '@shortlink/tables/basics';
import { InvalidArgumentError } from 'commander';
import { parseDomainHostname } from '../domain/hostnames.ts';
import { UUID } from '../domain/ids.ts';
import { type Kind, whole } from '../setting-values.ts';

// Parsers of options, for commander: each makes a value of a text, or says what is accepted.

function accept<T>(value: T | undefined, accepted: string): T {
  if (value === undefined) throw new InvalidArgumentError(`Expected ${accepted}.`);
  return value;
}

const accepting =
  <T>(accepted: string, parse: Kind<T>['parse']) =>
  (text: string): T =>
    accept(parse(text), accepted);

export const parseDelimiter = accepting(DELIMITER.expected, DELIMITER.read);
export const parseEncoding = accepting(ENCODING.expected, ENCODING.read);
const MAX_NAME_LENGTH = 200;

/** A name that people read: not empty, not endless, one line. */
export const parseName = accepting(`1 to ${MAX_NAME_LENGTH} characters on one line`, (text) => {
  const name = text.trim();
  const isTooLong = name.length > MAX_NAME_LENGTH;
  return name === '' || isTooLong || /\p{Cc}|\p{Surrogate}/u.test(name) ? undefined : name;
});

export const parsePlan = accepting<wire.Plan>(`one of ${wire.PLANS.join(', ')}`, (text) =>
  wire.PLANS.find((name) => name === text.toLowerCase()),
);

/** Names of `--limit`, and the limit that each sets. */
const LIMIT_NAMES = {
  rpm: 'requests_per_minute',
  rpd: 'requests_per_day',
  rpmonth: 'requests_per_month',
  links: 'links',
  keys: 'api_keys',
  batch: 'batch_size',
} as const satisfies Record<string, keyof wire.PlanLimits>;

export function limitsByFlag(limits: wire.PlanLimits): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(LIMIT_NAMES).map(([name, field]) => [name, limits[field]]),
  );
}

export function collectLimit(text: string, before: Partial<wire.PlanLimits> = {}) {
  const [, name, value] = /^(\w+)=(\d{1,15}|unlimited)$/.exec(text) ?? [];
  const [, field] = accept(
    Object.entries(LIMIT_NAMES).find(([known]) => known === name),
    `name=count or name=unlimited, with one of the names ${Object.keys(LIMIT_NAMES).join(', ')}`,
  );
  const count = value === 'unlimited' ? null : Number(value);
  const isTooFew = count === 0 && field !== 'links' && field !== 'api_keys';
  const isTooMany = field === 'batch_size' && (count ?? 0) > wire.MAX_BATCH_LINKS;
  const accepted = field === 'batch_size' ? `from 1 to ${wire.MAX_BATCH_LINKS}` : 'of 1 or more';
  accept(isTooFew || isTooMany ? undefined : count, `${name} ${accepted}, or unlimited`);
  return { ...before, [field]: count };
}

export function collectPermission(text: string, before: wire.Permission[] = []): wire.Permission[] {
  const permission = wire.PERMISSIONS.find((name) => name === text);
  return [...new Set([...before, accept(permission, `one of ${wire.PERMISSIONS.join(', ')}`)])];
}

/** A day (its beginning in UTC) or a time with its zone, in milliseconds since the epoch. */
const DATE = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

const parseDate = accepting(
  'a date such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z',
  (text) => {
    const [, day = ''] = DATE.exec(text) ?? [];
    const time = Date.parse(text);
    // `Date.parse` makes 2 March of 30 February.
    const isDay = new Date(`${day}T00:00Z`).toJSON()?.startsWith(day);
    return isDay && !Number.isNaN(time) ? time : undefined;
  },
);

export const parseFuture = (now: () => number) => (text: string) => {
  const time = parseDate(text);
  return accept(time > now() ? time : undefined, `a later date: ${text} is in the past`);
};

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const MAX_DURATION_MS = 366 * UNITS_MS.d;

export const parseDuration = accepting('at most 366d, such as 90s, 15m, 24h or 7d', (text) => {
  const [, digits, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const duration = Number(digits) * UNITS_MS[unit as keyof typeof UNITS_MS];
  return duration <= MAX_DURATION_MS ? duration : undefined;
});

export const parseHostname = accepting(
  'a host name without scheme or path, such as go.example.com, or an IP address, with a port from 1 to 65535 if it has one',
  parseDomainHostname,
);

export function parseCount(max: number): (text: string) => number {
  const { accepts, parse } = whole('a number', 1, max);
  return accepting(accepts, parse);
}

export const parseUuid = accepting('the id of a link', (text) =>
  UUID.test(text) ? text.toLowerCase() : undefined,
);
