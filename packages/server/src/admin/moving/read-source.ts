import {
  columnKey,
  detectTable,
  type Input,
  openInput,
  type Page,
  readDocument,
  readRows,
} from '@shortlink/tables';
import type { TableSettings } from '@shortlink/tables/basics';
import { isObject } from '../../domain/validate-link.ts';
import { CommandFailed, type Work } from '../command.ts';
import { unguarded } from './own-format.ts';

/** A link of an export, by the keys of its columns. Values of CSV are texts, and an empty cell has none. */
export interface SourceRow {
  line: number;
  /** Why its values can't be trusted. */
  problem?: string | undefined;
  values: { get: (column: string) => unknown; keys: () => Iterable<string> };
}

/** A file of links, which can be read more than once. */
export interface Source {
  name: string;
  /** What is counted: an entry of a JSON document may have many lines. */
  unit: 'line' | 'entry';
  /** None where there are no links. */
  columns: ReadonlySet<string>;
  /** Rows in arrays, so that nobody waits for each of them. */
  read: () => AsyncGenerator<SourceRow[]>;
  /** What a document, which may be one page of many, says about the others, and how many links it has itself. */
  page?: Page & { count: number };
}

/** Opens an export, until the command ends: a table in any format that the reader of tables knows, or the JSON of an API. */
export async function openSource(file: string, work: Work, how: Partial<TableSettings> = {}) {
  const input = await openInput(file, work.stdin);
  work.atEnd(input.dispose);
  return (await openDocument(input, how)) ?? openTable(input, work.err, how);
}

const SURPLUS = 'it has more cells than there are columns';
const CUT =
  'it has fewer cells than there are columns, and no line end: the file is cut off, or its last line has to be completed';
const UNENDED = 'has no line end: make sure that the file is not cut off';

async function openTable(input: Input, say: Work['err'], how: Partial<TableSettings>) {
  const auto = { map: {}, needsTarget: false, inputFormat: 'auto' } as const;
  const layout = await detectTable(input, { ...auto, ...how });
  const { columns } = layout.plan;
  const places = new Map(columns.map((column, at) => [columnKey(column), at]));
  const isTwice = (key: string, at: number) => key !== '' && places.get(key) !== at;
  const twice = columns.find((column, at) => isTwice(columnKey(column), at));
  if (twice !== undefined && layout.plan.format !== 'jsonl') {
    throw new CommandFailed(`${input.name}: two columns are called ${JSON.stringify(twice)}`);
  }
  const keys = new Map<string, string>();
  const cellsOf = (cells: readonly string[]) => ({
    get: (column: string) => unguarded(cells[places.get(column) ?? -1] ?? '') || undefined,
    keys: () => places.keys(),
  });
  return {
    name: input.name,
    unit: 'line' as const,
    columns: new Set(places.keys()),
    async *read(): AsyncGenerator<SourceRow[]> {
      for await (const rows of readRows(input, layout)) {
        yield rows.map(({ line, cells, object, problem, isUnended }) => {
          if (problem !== undefined) {
            throw new CommandFailed(`${input.name}, line ${line}: ${problem}`);
          }
          if (object !== undefined) return { line, values: flat(object, keys) };
          // A comma in a value that is not quoted cuts it, and moves those after it.
          const isSurplus = cells.slice(columns.length).some((cell) => cell.trim() !== '');
          if (isSurplus) return { line, problem: SURPLUS, values: cellsOf(cells) };
          const isCut = isUnended && cells.length < columns.length;
          if (isUnended && !isCut) say(`${input.name}: its last line, ${line}, ${UNENDED}`);
          return { line, problem: isCut ? CUT : undefined, values: cellsOf(cells) };
        });
      }
    },
  };
}

async function openDocument(input: Input, { encoding }: Partial<TableSettings>) {
  const document = await readDocument(input, encoding);
  if (document === undefined) return undefined;
  const keys = new Map<string, string>();
  const { links, ...others } = document;
  const rows: SourceRow[] = links.map((link, at) => ({ line: at + 1, values: flat(link, keys) }));
  return {
    ...{ name: input.name, unit: 'entry' as const },
    page: { count: links.length, ...others },
    columns: new Set(rows.flatMap(({ values }) => [...values.keys()])),
    async *read() {
      yield rows;
    },
  };
}

/** What to say where the files are not all pages of a list. Those with the same total are pages of one. */
export function missingPages(sources: readonly Source[]): string[] {
  const pages = sources.flatMap(({ name, page }) => (page ? { name, ...page } : []));
  return [...Map.groupBy(pages, ({ total }) => total)].flatMap(([total, files]) => {
    const links = files.reduce((sum, { count }) => sum + count, 0);
    const where = files.length === 1 ? files[0]?.name : `${files.length} files`;
    if (links < (total ?? 0)) return `${links} of ${total} links are in ${where}`;
    const isOpen = total === undefined && files.every(({ hasNext }) => hasNext);
    return isOpen ? `another page follows ${where}` : [];
  });
}

/** A number that the reader of tables keeps as it was written, such as `7.0`, also in a list; as text where a number would lose digits. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  if (!('rawJSON' in value)) {
    return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, plain(of)]));
  }
  const [text, number] = [String(value['rawJSON']), Number(value['rawJSON'])];
  return Number.isSafeInteger(number) ? number : text;
}

/**
 * The fields of an object by their keys; those of an object in it with the name of that in front.
 * @param keys - Gains the key of each name, since many rows have the same.
 */
function flat(object: object, keys: Map<string, string>, prefix = ''): Map<string, unknown> {
  const values = new Map<string, unknown>();
  for (const [name, value] of Object.entries(object)) {
    const ownKey = keys.get(name) ?? columnKey(name);
    keys.set(name, ownKey);
    const key = prefix + ownKey;
    if (!isObject(value) || 'rawJSON' in value) values.set(key, plain(value));
    else {
      const names = Object.keys(value);
      // Of targets by country, nobody knows all names.
      if (names.length > 0) values.set(key, names);
      for (const [inner, of] of flat(value, keys, key)) values.set(inner, of);
    }
  }
  return values;
}
