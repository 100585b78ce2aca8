import { readFile } from 'node:fs/promises';
import { columnKey, detectTable, type Input, openInput, readRows } from '@shortlink/tables';
import { CommandFailed } from '../command.ts';
import { unguarded } from './own-format.ts';

/** Largest JSON document, in bytes: all of it is in memory. */
const MAX_JSON_BYTES = 32 * 1024 * 1024;

/** A link of an export, by the keys of its columns. Values of CSV are texts. */
export interface SourceRow {
  /** Number of the line, or of the entry. */
  line: number;
  /** Why its values can't be trusted. */
  problem?: string | undefined;
  values: { get: (column: string) => unknown };
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
  dispose: () => Promise<void>;
}

/** Opens an export: a table in any format that the reader of tables knows, or the JSON of an API. */
export async function openSource(
  file: string,
  stdin: AsyncIterable<Uint8Array | string>,
): Promise<Source> {
  const input = await openInput(file, stdin);
  try {
    return (await openDocument(input)) ?? (await openTable(input));
  } catch (error) {
    await input.dispose();
    throw error;
  }
}

async function openTable(input: Input): Promise<Source> {
  const layout = await detectTable(input, { map: {}, isMapOptional: true, inputFormat: 'auto' });
  const { columns } = layout.plan;
  const places = new Map(columns.map((column, at) => [columnKey(column), at]));
  const isTwice = (key: string, at: number) => key !== '' && places.get(key) !== at;
  const twice = columns.find((column, at) => isTwice(columnKey(column), at));
  if (twice !== undefined && layout.plan.format !== 'jsonl') {
    throw new CommandFailed(`${input.name}: two columns are called ${JSON.stringify(twice)}`);
  }
  const keyOf = keys();
  const cellsOf = (cells: readonly string[]) => ({
    get: (column: string) => unguarded(cells[places.get(column) ?? -1] ?? ''),
  });
  return {
    name: input.name,
    unit: 'line',
    columns: new Set(places.keys()),
    async *read() {
      for await (const rows of readRows(input, layout)) {
        yield rows.map(({ line, cells, object, problem }) => {
          if (problem !== undefined) {
            throw new CommandFailed(`${input.name}, line ${line}: ${problem}`);
          }
          if (object !== undefined) return { line, values: flat(object, keyOf) };
          // A comma in a value that is not quoted cuts it, and moves those after it.
          const isSurplus = cells.slice(columns.length).some((cell) => cell.trim() !== '');
          const surplus = isSurplus ? 'it has more cells than there are columns' : undefined;
          return { line, problem: surplus, values: cellsOf(cells) };
        });
      }
    },
    dispose: input.dispose,
  };
}

/** A JSON document with a list of links: the list itself, or in one of the fields that APIs have it in. */
async function openDocument({ path, name, size, packing, dispose }: Input) {
  if (packing !== undefined) return undefined;
  if (size > MAX_JSON_BYTES) return undefined;
  const text = (await readFile(path, 'utf8')).replace(/^\ufeff/, '').trim();
  if (!/^[[{]|^$/.test(text)) return undefined;
  let document: unknown;
  try {
    // An account without links is exported as no lines.
    document = text === '' ? [] : JSON.parse(text);
  } catch {
    // JSON Lines.
    if (!PAGE.test(text)) return undefined;
    throw new CommandFailed(
      `${name} is not one JSON document. Import each page as a file of its own, or make lines of all links, such as with jq -c '.links[]'`,
    );
  }
  const links = listIn(document);
  if (links === undefined) return undefined;
  const keyOf = keys();
  const rows = links.map((link, at) => ({ line: at + 1, values: flat(link, keyOf) }));
  return {
    ...{ name, unit: 'entry' as const },
    columns: new Set(rows.flatMap(({ values }) => [...values.keys()])),
    async *read() {
      yield rows;
    },
    dispose,
  };
}

/** Fields of documents that hold the links: of Bitly, Short.io and Sink; of Kutt; of Shlink. */
const LISTS = ['links', 'data', 'shortUrls'];

/** How a page of an API begins: with such a field, before which there are numbers and the like at most. */
const PAGE = /^\{\s*(?:"\w+"\s*:\s*[\w".-]+\s*,\s*)*"(?:links|data|shortUrls)"\s*:\s*[[{]/;

function listIn(document: unknown): object[] | undefined {
  if (Array.isArray(document)) return document.every(isObject) ? document : undefined;
  if (!isObject(document)) return undefined;
  const fields = new Map<string, unknown>(Object.entries(document));
  const inner = LISTS.map((name) => fields.get(name)).find((value) => value !== undefined);
  if (inner === undefined) return undefined;
  // YOURLS numbers its links: link_1, link_2 and so on.
  const isNumbered = isObject(inner) && 'link_1' in inner;
  return listIn(isNumbered ? Object.values(inner) : inner);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Makes the keys of columns, each once: many rows have the same. */
function keys(): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const key = known.get(name) ?? columnKey(name);
    known.set(name, key);
    return key;
  };
}

/** The fields of an object by their keys; those of an object in it with the name of that in front. */
function flat(object: object, keyOf: (name: string) => string, prefix = ''): Map<string, unknown> {
  const values = new Map<string, unknown>();
  for (const [name, value] of Object.entries(object)) {
    const key = prefix === '' ? keyOf(name) : prefix + keyOf(name);
    if (!isObject(value) || Array.isArray(value)) values.set(key, value);
    else for (const [inner, of] of flat(value, keyOf, key)) values.set(inner, of);
  }
  return values;
}
