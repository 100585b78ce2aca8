/** Columns that an import adds to the input's own, in this order. */
export const RESULT_COLUMNS = ['code', 'short_url', 'status', 'error'] as const;

export type ResultColumn = (typeof RESULT_COLUMNS)[number];

/** Where the columns of an earlier import are in an input, by index. */
export type ResultColumns = Partial<Record<ResultColumn, number>>;

/**
 * The result columns of an input: all four, each once and with its very name, or none. Exports of other services have columns such
 * as `code` and `short_url` too, and those are links of another service.
 */
export function findResultColumns(columns: readonly string[]): ResultColumns {
  const found: ResultColumns = {};
  for (const name of RESULT_COLUMNS) {
    const index = columns.indexOf(name);
    if (index === -1 || columns.includes(name, index + 1)) return {};
    found[name] = index;
  }
  return found;
}
