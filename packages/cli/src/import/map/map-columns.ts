import { inputError } from '../errors.ts';
import { LINK_FIELDS, type LinkField, type Plan } from '../types.ts';
import { ALIASES, columnKey, listColumns, nearest } from './column-names.ts';
import type { PresetForm } from './presets.ts';

export interface MapColumnsInput {
  /** Name of the file in messages. */
  name: string;
  columns: readonly string[];
  /** `--map`. */
  map: Readonly<Partial<Record<LinkField, string>>>;
  /** The form of the preset that was given or recognised. */
  preset: PresetForm | undefined;
  /** Without a header: the column of the first row that holds a URL. */
  urlColumn: number | undefined;
}

/**
 * Which column fills which field: `--map` first, then the preset's columns, or without a preset the usual names, or
 * without a header the column that holds URLs.
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
  if (mapping.target_url === undefined) {
    throw inputError(
      `${input.name}: no column is known to hold the target URL`,
      `Its columns are ${listColumns(input.columns)}. Say which one it is: --map target_url=NAME`,
    );
  }
  return mapping;
}

function automaticColumn(input: MapColumnsInput, field: LinkField): number | undefined {
  if (input.urlColumn !== undefined) return field === 'target_url' ? input.urlColumn : undefined;
  const preset = input.preset?.fields[field];
  const keys = input.preset === undefined ? ALIASES[field] : preset === undefined ? [] : [preset];
  for (const key of keys) {
    const found = indexesWhere(input.columns, (name) => columnKey(name) === key);
    if (found.length > 1) throw ambiguous(input, field, found);
    if (found[0] !== undefined) return found[0];
  }
  return undefined;
}

/** A column as people write it: its very name, its name with other case, spaces or punctuation, or its number from 1. */
function findColumn(input: MapColumnsInput, field: LinkField, wanted: string): number {
  const key = columnKey(wanted);
  const comparisons: ReadonlyArray<(name: string) => boolean> = [
    (name) => name === wanted,
    (name) => key !== '' && columnKey(name) === key,
  ];
  for (const matches of comparisons) {
    const found = indexesWhere(input.columns, matches);
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

function indexesWhere(
  columns: readonly string[],
  matches: (name: string) => boolean,
): readonly number[] {
  return columns.flatMap((name, index) => (matches(name) ? [index] : []));
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
