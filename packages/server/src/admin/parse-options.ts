import {
  PERMISSIONS,
  type Permission,
  PLANS,
  type Plan,
  type PlanLimits,
} from '@shortlink/sdk/wire';
import { InvalidArgumentError } from 'commander';
import { normalizeHost, parseDomainHostname } from '../domain/hostnames.ts';

// Parsers of options, for commander: each makes a value of a text, or says what is accepted.

const MAX_NAME_LENGTH = 200;

/** A name that people read: not empty, not endless, one line. */
export function parseName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > MAX_NAME_LENGTH || /\p{Cc}|\p{Surrogate}/u.test(name)) {
    throw new InvalidArgumentError(`Expected 1 to ${MAX_NAME_LENGTH} characters on one line.`);
  }
  return name;
}

export function parsePlan(text: string): Plan {
  const plan = PLANS.find((name) => name === text.toLowerCase());
  if (plan === undefined) throw new InvalidArgumentError(`Expected one of ${PLANS.join(', ')}.`);
  return plan;
}

/** Names of `--limit`, and the limit that each sets. */
const LIMIT_NAMES = {
  rpm: 'requests_per_minute',
  rpd: 'requests_per_day',
  rpmonth: 'requests_per_month',
  links: 'links',
  keys: 'api_keys',
  batch: 'batch_size',
} as const satisfies Record<string, keyof PlanLimits>;

const LIMIT_FIELDS = new Map<string, keyof PlanLimits>(Object.entries(LIMIT_NAMES));

/** Limits under the names that `--limit` has for them. */
export function limitsByFlag(limits: PlanLimits): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(LIMIT_NAMES).map(([name, field]) => [name, limits[field]]),
  );
}

/** Reads one `--limit name=value` and adds it to those before it. */
export function collectLimit(text: string, before: Partial<PlanLimits> = {}): Partial<PlanLimits> {
  const [name = '', value = ''] = text.split('=', 2);
  const field = LIMIT_FIELDS.get(name);
  const isCount = /^\d{1,15}$/.test(value);
  if (field === undefined || !(isCount || value === 'unlimited')) {
    const names = Object.keys(LIMIT_NAMES).join(', ');
    throw new InvalidArgumentError(
      `Expected name=count or name=unlimited, with one of the names ${names}.`,
    );
  }
  return { ...before, [field]: isCount ? Number(value) : null };
}

export function collectPermission(text: string, before: Permission[] = []): Permission[] {
  const permission = PERMISSIONS.find((name) => name === text);
  if (permission === undefined) {
    throw new InvalidArgumentError(`Expected one of ${PERMISSIONS.join(', ')}.`);
  }
  return before.includes(permission) ? before : [...before, permission];
}

/** A day (its beginning in UTC) or a time with its zone, in milliseconds since the epoch. */
export function parseDate(text: string): number {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})$/.test(
    text,
  );
  const time = isDay || isTime ? Date.parse(text) : Number.NaN;
  // `Date.parse` makes 2 March of 30 February.
  const isCalendarDay = new Date(`${text.slice(0, 10)}T00:00Z`)
    .toJSON()
    ?.startsWith(text.slice(0, 10));
  if (Number.isNaN(time) || !isCalendarDay) {
    throw new InvalidArgumentError(
      'Expected a date such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z.',
    );
  }
  return time;
}

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const MAX_DURATION_MS = 366 * UNITS_MS.d;

/** A time span such as `90s`, `15m`, `24h` or `7d`, in milliseconds; at most 366 days. */
export function parseDuration(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const factor = Object.entries(UNITS_MS).find(([name]) => name === unit)?.[1];
  const duration = factor === undefined ? Number.NaN : Number(digits) * factor;
  if (!(duration <= MAX_DURATION_MS)) {
    throw new InvalidArgumentError('Expected a duration such as 90s, 15m, 24h or 7d.');
  }
  return duration;
}

/** The hostname of a custom domain that is added. */
export function parseHostname(text: string): string {
  const hostname = parseDomainHostname(text);
  if (hostname === undefined) {
    throw new InvalidArgumentError(
      'Expected a host name without scheme or path, such as go.example.com, or an IP address, with a port from 1 to 65535 if it has one.',
    );
  }
  return hostname;
}

/** The hostname of a custom domain that exists. It may have been added when more was accepted. */
export function parseKnownHostname(text: string): string {
  return normalizeHost(text) ?? parseHostname(text);
}

/** A whole number from 1 to `max`. */
export function parseCount(max: number): (text: string) => number {
  return (text) => {
    const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (count < 1 || count > max) throw new InvalidArgumentError(`Expected 1 to ${max}.`);
    return count;
  };
}

export function parseUuid(text: string): string {
  if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) {
    throw new InvalidArgumentError('Expected the id of a link.');
  }
  return text.toLowerCase();
}
