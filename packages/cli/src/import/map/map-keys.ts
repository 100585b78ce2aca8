import { ALIASES, columnKey, isOfOneService, isShortLinkColumn } from '@shortlink/tables';
import { LINK_FIELDS, type LinkField, type Plan, type Row } from '@shortlink/tables/basics';
import type { Layout } from '../layout.ts';
import { isResult, RESULT_COLUMNS } from './result-columns.ts';

interface Meaning {
  /** The key that fills each field, as the index of the column that has its name. */
  mapping: Plan['mapping'];
  /** Why that can't be known. */
  problem: string | undefined;
}

type Columns = Pick<Plan, 'columns' | 'mapping'>;
type FieldMap = Readonly<Partial<Record<LinkField, string>>>;
type JsonObject = Readonly<Record<string, unknown>>;

/** Sets of keys that are remembered. */
const MAX_KNOWN = 1_000;

/**
 * Which keys fill which fields, for each line of JSON Lines by its own keys, so that the file can grow and be sorted. Keys without a
 * value count as missing. `--map` goes first.
 */
export function keyMapping(plan: Columns, map: FieldMap = {}): (object: JsonObject) => Meaning {
  const known = new Map<string, Meaning>();
  // Most lines have the keys of the one before them.
  let last: { keys: readonly string[]; meaning: Meaning } | undefined;
  return (object) => {
    const isOurs = isResult(object);
    if (last !== undefined) {
      const { keys, meaning } = last;
      let count = 0;
      for (const key in object) {
        if (counts(key, object[key], isOurs) && keys[count++] !== key) count = Infinity;
      }
      if (count === keys.length) return meaning;
    }
    const keys = Object.keys(object).filter((key) => counts(key, object[key], isOurs));
    const name = keys.map((key) => `${key.length} ${key}`).join('');
    let meaning = known.get(name);
    if (meaning === undefined) {
      meaning = meaningOf(keys, plan, map);
      if (known.size === MAX_KNOWN) known.clear();
      known.set(name, meaning);
    }
    last = { keys, meaning };
    return meaning;
  };
}

/** Which columns fill which fields, for each row. With `isOfLines`, rows of a table are read as the lines of JSON Lines whose results they hold. */
export function rowMapping(
  { plan, resultColumns }: Pick<Layout, 'plan' | 'resultColumns'>,
  map: FieldMap | undefined,
  isOfLines: boolean,
): (row: Row) => Meaning {
  const ofKeys = keyMapping(plan, map);
  const ofTable: Meaning = { mapping: plan.mapping, problem: undefined };
  const results = new Set<number>(Object.values(resultColumns));
  const own = [...plan.columns.entries()].filter(([index]) => !results.has(index));
  return (row) => {
    if (row.object !== undefined) return ofKeys(row.object);
    if (!isOfLines) return ofTable;
    const { cells } = row;
    return ofKeys(Object.fromEntries(own.map(([index, name]) => [name, cells[index] ?? ''])));
  };
}

/** Whether a key says something of the link: it has a value, and no import has written it. */
function counts(key: string, value: unknown, isOurs: boolean): boolean {
  return value !== null && value !== '' && !(isOurs && RESULT_COLUMNS.some((name) => name === key));
}

function meaningOf(keys: readonly string[], { columns, mapping: usual }: Columns, map: FieldMap) {
  const names = keys.map(columnKey);
  const isForeign = keys.some(isShortLinkColumn);
  const mapping: Plan['mapping'] = {};
  let problem: string | undefined;
  for (const field of LINK_FIELDS) {
    if (map[field] !== undefined) {
      if (usual[field] !== undefined) mapping[field] = usual[field];
      continue;
    }
    if (isForeign && isOfOneService(field)) continue;
    const alias = ALIASES[field].find((name) => names.includes(name));
    const [key, other] = keys.filter((_, index) => names[index] === alias);
    if (key === undefined) continue;
    mapping[field] = columns.indexOf(key);
    if (other !== undefined) {
      problem ??= `${JSON.stringify(key)} and ${JSON.stringify(other)} could both be ${field}`;
    }
  }
  // Where no key has a usual name, the file may have one that only holds URLs.
  if (usual.target_url !== undefined) mapping.target_url ??= usual.target_url;
  return { mapping, problem };
}
