import type { JournalRecord } from './records.ts';

/** One line of a journal; undefined when it is not one, as the torn last line of a killed run. */
export function parseRecord(line: string): JournalRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  return isRecord(value) ? value : undefined;
}

/** What each kind of record must hold. The file is ours: this finds damage and foreign files, not every lie. */
const CHECKS: Readonly<Record<string, (record: Readonly<Record<string, unknown>>) => boolean>> = {
  header: ({ v, links, input, settings, target }) =>
    typeof v === 'number' &&
    isCount(links) &&
    isObject(input) &&
    isObject(settings) &&
    isObject(target),
  sent: (record) => isRange(record) && typeof record['at'] === 'string',
  accepted: (record) => isRange(record) && typeof record['job'] === 'string',
  completed: (record) =>
    isRange(record) && (Array.isArray(record['codes']) || Array.isArray(record['items'])),
  failed: isRange,
  unknown: isRange,
  released: isRange,
  finished: () => true,
};

function isRecord(value: unknown): value is JournalRecord {
  if (!isObject(value)) return false;
  const type = value['t'];
  return typeof type === 'string' && Object.hasOwn(CHECKS, type) && CHECKS[type]?.(value) === true;
}

function isRange({ first, count }: Readonly<Record<string, unknown>>): boolean {
  return isCount(first) && isCount(count) && count > 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
