import { inputError } from '../errors.ts';
import { LINK_FIELDS, type LinkField, type Plan, type Row } from '../types.ts';
import { ALIASES, columnKey, isForeignExport, listColumns, nearest } from './column-names.ts';
import type { ResultColumns } from './result-columns.ts';

export interface MapColumnsInput {
  /** Name of the file in messages. */
  name: string;
  columns: readonly string[];
  /** `--map`. */
  map: Readonly<Partial<Record<LinkField, string>>>;
  /** Without a header: the column of the first row that holds a URL. */
  urlColumn: number | undefined;
  /** Columns of an earlier import, which fill no field. */
  resultColumns: ResultColumns;
  /** The first rows. */
  samples: readonly Pick<Row, 'cells'>[];
  /** Gains a sentence for each guess that the user should know. */
  notes: string[];
}

/**
 * Which column fills which field: `--map` first, then the usual names, or without a header the column that holds URLs.
 *
 * @throws CliError (exit code 2) when a column is missing or ambiguous, or none holds the target URL
 */
export function mapColumns(input: MapColumnsInput): Plan['mapping'] {
  const mapping: Plan['mapping'] = {};
  for (const field of LINK_FIELDS) {
    const wanted = input.map[field];
    const index =
      wanted === undefined ? automaticColumn(input, field) : findColumn(input, field, wanted);
    if (index !== undefined) mapping[field] = index;
  }
  mapping.target_url ??= onlyUrlColumn(input);
  return mapping;
}

function automaticColumn(input: MapColumnsInput, field: LinkField): number | undefined {
  if (input.urlColumn !== undefined) return field === 'target_url' ? input.urlColumn : undefined;
  // A domain id or a redirect of another service means nothing here.
  const isOurs = field !== 'domain_id' && field !== 'redirect_type';
  if (!isOurs && isForeignExport(ownColumns(input))) return undefined;
  for (const key of ALIASES[field]) {
    const found = indexesWhere(input, (name) => columnKey(name) === key);
    if (found.length > 1) throw ambiguous(input, field, found);
    if (found[0] !== undefined) return found[0];
  }
  return undefined;
}

/** Where no name says which column holds the target URL: the only one that holds a URL in each of the first rows. */
function onlyUrlColumn(input: MapColumnsInput): number {
  const { columns, samples } = input;
  const found = indexesWhere(
    input,
    (_, index) =>
      samples.length > 0 &&
      samples.every(({ cells }) => /^\s*https?:\/\//i.test(cells[index] ?? '')),
  );
  const [index] = found;
  if (index !== undefined && found.length === 1) {
    input.notes.push(
      `No column has a usual name, and ${JSON.stringify(columns[index])} is the only one that holds URLs: it is taken for the target URL.`,
    );
    return index;
  }
  const several =
    found.length > 1
      ? `URLs are in ${listColumns(found.map((at) => columns[at] ?? ''))}.`
      : `Its columns are ${listColumns(columns)}.`;
  throw inputError(
    `${input.name}: no column is known to hold the target URL`,
    `${several} Say which one it is: --map target_url=NAME`,
  );
}

/**
 * A column as people write it: its very name, its name with other case, spaces or punctuation, or its number from 1. Undefined for
 * an empty one, which leaves the field out.
 */
function findColumn(input: MapColumnsInput, field: LinkField, wanted: string): number | undefined {
  if (wanted === '' && field !== 'target_url') return undefined;
  const key = columnKey(wanted);
  const comparisons: ReadonlyArray<(name: string) => boolean> = [
    (name) => name === wanted,
    (name) => key !== '' && columnKey(name) === key,
  ];
  for (const matches of comparisons) {
    const found = input.columns.flatMap((name, index) => (matches(name) ? [index] : []));
    if (found.length > 1) throw ambiguous(input, field, found);
    if (found[0] !== undefined) return found[0];
  }
  const number = /^\d+$/.test(wanted) ? Number(wanted) : 0;
  if (number >= 1 && number <= input.columns.length) return number - 1;
  const meant = nearest(wanted, input.columns);
  const suggestion = meant === undefined ? '' : `Did you mean ${JSON.stringify(meant)}? `;
  throw inputError(
    `${input.name}: --map ${field}=${wanted}: there is no such column`,
    `${suggestion}Its columns are ${listColumns(input.columns)}`,
  );
}

/** Columns that an earlier import did not add. */
function ownColumns({ columns, resultColumns }: MapColumnsInput): string[] {
  const results = new Set(Object.values(resultColumns));
  return columns.filter((_, index) => !results.has(index));
}

function indexesWhere(
  { columns, resultColumns }: MapColumnsInput,
  matches: (name: string, index: number) => boolean,
): readonly number[] {
  const results = new Set(Object.values(resultColumns));
  return columns.flatMap((name, index) =>
    !results.has(index) && matches(name, index) ? [index] : [],
  );
}

function ambiguous(input: MapColumnsInput, field: LinkField, found: readonly number[]) {
  const [first = 0] = found;
  const numbers = found.map((index) => index + 1).join(' and ');
  return inputError(
    `${input.name}: columns ${numbers} could both be ${field}: ${found
      .map((index) => JSON.stringify(input.columns[index] ?? ''))
      .join(', ')}`,
    `Name one by its number, such as --map ${field}=${first + 1}`,
  );
}
