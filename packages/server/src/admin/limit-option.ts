import type { PlanLimits } from '@shortlink/sdk/wire';
import { InvalidArgumentError } from 'commander';

/** Names of `--limit`, and the limit each sets (DESIGN section 5). */
const LIMIT_NAMES = {
  rpm: 'requests_per_minute',
  rpd: 'requests_per_day',
  rpmonth: 'requests_per_month',
  links: 'links',
  keys: 'api_keys',
  batch: 'batch_size',
} as const satisfies Record<string, keyof PlanLimits>;

const LIMIT_FIELDS = new Map<string, keyof PlanLimits>(Object.entries(LIMIT_NAMES));

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
