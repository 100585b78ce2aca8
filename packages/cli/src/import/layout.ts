import { detectTable, type TableLayout } from '@shortlink/tables';
import type { AddedColumns, Plan } from '@shortlink/tables/basics';
import { fitOf, linkIdentity, readMadeFor } from './map/link-identity.ts';
import { findResultColumns, ownLink, type ResultColumns } from './map/result-columns.ts';
import { createRowRules } from './map/row-rules.ts';
import type { ImportSettings } from './types.ts';

export interface Layout extends Omit<TableLayout, 'samples'> {
  /** All four columns of an earlier import that are in a table, by index, or none. A line of JSON Lines has its own. */
  resultColumns: ResultColumns;
  /** The rejects of an earlier import, with line and reason in the last columns. */
  isRejects: boolean;
  /** Whether apostrophes that made formulas harmless are removed again. */
  isOwnFile: boolean;
  /** Whether it was written for JSON Lines, of which each had its own keys. */
  isOfLines: boolean;
}

const RESULTS: AddedColumns = {
  header: /^[^\r\n]*code([^\r\n])short_url\1status\1error/,
  find: findResultColumns,
};

/** Nothing but the name tells that a table has rejects or results of JSON Lines. */
const TABLE_OF_LINES =
  /\.(?:jsonl|ndjson|json)(?:\.gz)?(?:\.(?:results|rejects)\.csv)+(?:\.old\d*)?$/i;

type LayoutSettings = Parameters<typeof detectTable>[1] &
  Partial<Pick<ImportSettings, 'defaults' | 'addTags' | 'tagSeparator'>>;

/**
 * Finds out how to read an input. Where a column has lost its name, `made_for` tells which one it is. A column of targets that is named is
 * taken for another one in earlier results only: in an input, all targets may be new.
 *
 * @throws InputError when the input can't be imported as it is, or an option doesn't fit it
 */
export async function detectLayout(
  input: Parameters<typeof detectTable>[0],
  settings: LayoutSettings,
): Promise<Layout> {
  const { map, isMapOptional = false } = settings;
  const detect = async (wanted: LayoutSettings['map'], fields: readonly FittingField[]) =>
    fittingLayout(
      layoutOf(await detectTable(input, { ...settings, map: wanted, added: RESULTS }), input.name),
      settings,
      fields,
    );
  const all = ['target_url', 'title', 'tags'] as const;
  try {
    return (await detect(map, isMapOptional ? all : ['title', 'tags'])).layout;
  } catch (error) {
    if (map.target_url !== undefined && !isMapOptional) throw error;
    // Where lines have different keys, two columns may be one field.
    for (const names of [map, { title: '', tags: '', ...map }]) {
      const found = await detect({ ...names, target_url: '1' }, all).catch(() => undefined);
      if (found?.isProven === true) return found.layout;
    }
    throw error;
  }
}

function layoutOf({ samples, ...table }: TableLayout, name: string) {
  const { columns, format, hasHeader } = table.plan;
  const isLines = format === 'jsonl';
  const resultColumns = hasHeader && !isLines ? findResultColumns(columns, samples) : {};
  // A table of somebody else may have columns of these names.
  const isRejects =
    columns.at(-2) === 'line' &&
    columns.at(-1) === 'reason' &&
    samples.some(({ cells }) => /^\d+$/.test(cells[columns.length - 2] ?? ''));
  // In JSON, an apostrophe before a formula is the user's own.
  const isOwnFile = !isLines && (isRejects || resultColumns.status !== undefined);
  const isOfLines = isOwnFile && TABLE_OF_LINES.test(name);
  const layout: Layout = { ...table, resultColumns, isRejects, isOwnFile, isOfLines };
  return { layout, samples };
}

const SAMPLE_ROWS = 100;

type FittingField = 'target_url' | 'title' | 'tags';

/** The layout whose columns are what the links of the first rows were made for, and whether any of these rows says so. */
function fittingLayout(
  { layout, samples }: ReturnType<typeof layoutOf>,
  { map, defaults = {}, addTags, tagSeparator }: LayoutSettings,
  fields: readonly FittingField[],
) {
  const rows = samples.slice(0, SAMPLE_ROWS).flatMap((row) => {
    const made = ownLink(row, layout)?.made_for ?? '';
    return readMadeFor(made) === null ? [] : [{ row, made }];
  });
  const withMapping = (mapping: Plan['mapping']): Layout => {
    return { ...layout, plan: { ...layout.plan, mapping } };
  };
  const fit = (mapping: Plan['mapping']) => {
    const rules = createRowRules(withMapping(mapping), { defaults, addTags, tagSeparator });
    return rows.reduce((sum, { row, made }) => {
      return sum + (fitOf(linkIdentity(rules.link(row), defaults.domain_id), made) ?? 0);
    }, 0);
  };
  const { mapping, columns } = layout.plan;
  let best = { mapping, fit: fit(mapping) };
  const results: readonly number[] = Object.values(layout.resultColumns);
  for (const field of fields) {
    if (best.fit === 2 * rows.length) break;
    if (field !== 'target_url' && (mapping[field] ?? map[field]) !== undefined) continue;
    for (const index of columns.keys()) {
      if (results.includes(index) || Object.values(best.mapping).includes(index)) continue;
      const other = { ...best.mapping, [field]: index };
      const gain = fit(other) - best.fit;
      // Short texts agree by chance, and rows may have been edited.
      if (2 * gain > rows.length) best = { mapping: other, fit: best.fit + gain };
    }
  }
  return { layout: withMapping(best.mapping), isProven: best.fit > 0 };
}
