import { Readable } from 'node:stream';
import {
  columnKey,
  type Input,
  openInput,
  readDocument,
  readRows,
  splitTags,
  toCell,
} from '@shortlink/tables';
import { inputError, type TableSettings as ReadSettings, type Row } from '@shortlink/tables/basics';
import { detectLayout, type Layout } from '../import/layout.ts';
import { createRowRules } from '../import/map/row-rules.ts';
import { type ImportDeps, type ImportSettings, ROW_STATUSES } from '../import/types.ts';

export interface TableSettings extends Omit<ReadSettings, 'map'>, Pick<ImportSettings, 'file'> {
  map: Partial<Record<'short_url' | 'target_url', string>>;
}

export interface LinkRow {
  row: Row;
  /** Undefined where the row has no link of its own. Empty where a link that was created has lost it. */
  shortUrl: string | undefined;
  target: string;
  /** Whether an export says that the link is switched off: then 410 is right. */
  isOff?: boolean;
}

export interface Table {
  input: Input;
  layout: Layout;
  /** Rows, and those that have a short URL or can't be read, and so might have one. */
  rows: number;
  links: number;
  read: () => AsyncGenerator<LinkRow>;
}

/** Names of the column of short URLs, the best first. Bitly calls it `link`, which elsewhere is the target. */
const SHORT_URL_NAMES = ['shorturl', 'shortlink', 'secureshorturl', 'bitlink', 'link'];

/** Rows with these words have no link, whatever stands in their cells. */
const WITHOUT_LINK: readonly unknown[] = ROW_STATUSES.filter((status) => status !== 'created');

type TableDeps = Pick<ImportDeps, 'stdin' | 'signal'>;

/**
 * Opens a table and reads it once, so that what is wrong with it is known before anything is asked. Throws an InputError for a file
 * that can't be read, has no such columns, or no short URL at all, and the reason of the signal.
 */
export async function openTable(settings: TableSettings, { stdin, signal }: TableDeps) {
  let input = await openInput(settings.file, stdin, signal).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error;
  });
  try {
    input = await linesOf(input, settings);
    const { short_url: wanted, ...map } = settings.map;
    const layout = await detectLayout(input, { ...settings, map });
    const { shortUrlOf, withShortUrl } = shortUrlReader(input.name, layout, wanted);
    const exportedOf = exportReader(layout);
    const targetBy = (isOfLines: boolean) => {
      const rules = createRowRules(layout, { map, defaults: {} }, isOfLines);
      return (row: Row) => rules.link(row).target_url;
    };
    const targetOf = targetBy(layout.isOfLines);
    // Results of JSON Lines, of which each has its target in a column of its own, may have any name.
    const targetOfLine = targetBy(layout.resultColumns.status !== undefined);
    const table: Table = {
      ...{ input, layout, rows: 0, links: 0 },
      async *read() {
        for await (const rows of readRows(input, layout)) {
          for (const row of rows) {
            const shortUrl = row.problem === undefined ? shortUrlOf(row) : undefined;
            const target = targetOf(row) || targetOfLine(row);
            const { isOff, addresses } = exportedOf(row);
            yield { row, shortUrl, target, isOff };
            for (const address of addresses) {
              if (address === shortUrl) continue;
              yield { row: withShortUrl(row, address), shortUrl: address, target, isOff };
            }
          }
        }
      },
    };
    let hasLink = false;
    for await (const { row, shortUrl } of table.read()) {
      signal.throwIfAborted();
      table.rows += 1;
      if (shortUrl !== undefined || row.problem !== undefined) table.links += 1;
      hasLink ||= shortUrl !== undefined;
    }
    if (hasLink) return table;
    throw inputError(`${input.name}: no row has a short URL, so there is nothing to verify`);
  } catch (error) {
    await input.dispose();
    throw error;
  }
}

/** Each line is a document of its own. */
const LINES = /\.(?:jsonl|ndjson)(?:\.gz)?$/i;

/** A JSON document becomes lines of its links, unless the name or the user says what the input is. */
async function linesOf(input: Input, { file, inputFormat }: TableSettings): Promise<Input> {
  if (inputFormat !== 'auto' || LINES.test(file)) return input;
  const document = await readDocument(input);
  if (document === undefined) return input;
  await input.dispose();
  const lines = Readable.from(document.links.map((link) => `${JSON.stringify(link)}\n`));
  return { ...(await openInput('-', lines)), name: input.name };
}

/** The column of short URLs of an import's results, the one that the user names, or one with a usual name. */
function shortUrlReader(name: string, layout: Layout, wanted: string | undefined) {
  const { resultColumns } = layout;
  const { columns, mapping } = layout.plan;
  const find = (key: string) =>
    columns.findLastIndex((column, index) => {
      return index !== mapping.target_url && key !== '' && columnKey(column) === key;
    });
  const named = /^\d+$/.test(wanted ?? '') ? Number(wanted) - 1 : find(columnKey(wanted ?? ''));
  const usual = SHORT_URL_NAMES.map(find).find((index) => index >= 0) ?? -1;
  const place = wanted === undefined ? (resultColumns.short_url ?? usual) : named;
  const column = columns[place];
  if (column === undefined) {
    throw inputError(
      wanted === undefined
        ? `${name}: no column could be recognized as the short URL`
        : `${name}: --map short_url=${wanted}: there is no such column`,
      `Its columns are ${columns.map((text) => JSON.stringify(text)).join(', ')}. Name the right one: --map short_url=NAME`,
    );
  }
  return {
    shortUrlOf(row: Row): string | undefined {
      const { cells, object } = row;
      const status = object ? object['status'] : cells[resultColumns.status ?? -1];
      if (WITHOUT_LINK.includes(status)) return undefined;
      return cellAt(row, columns, place).trim() || (status === 'created' ? '' : undefined);
    },
    withShortUrl: ({ line, cells, object }: Row, address: string): Row => ({
      line,
      cells: Array.from({ length: Math.max(cells.length, place + 1) }, (_, at) =>
        at === place ? address : (cells[at] ?? ''),
      ),
      object: object && { ...object, [column]: address },
    }),
  };
}

function cellAt({ cells, object }: Row, columns: readonly string[], at: number): string {
  return object ? toCell(object[columns[at] ?? ''] ?? null) : (cells[at] ?? '');
}

/** Further addresses of a link: our own exports, and Bitly's. */
const ADDRESS_LISTS = ['aliases', 'custombitlinks', 'customlink'];

/** What an export of a link service says of a link beside its short URL. */
function exportReader({ plan: { columns } }: Layout) {
  const find = (...keys: readonly string[]) =>
    columns.findIndex((column) => keys.includes(columnKey(column)));
  return (row: Row): { addresses: readonly string[]; isOff: boolean } => {
    // Each line of JSON may bring further columns.
    const list = find(...ADDRESS_LISTS);
    if (row.problem !== undefined || list === -1) return { addresses: [], isOff: false };
    return {
      addresses: splitTags(cellAt(row, columns, list), ' '),
      isOff: /^(?:false|0|no)$/i.test(cellAt(row, columns, find('isactive'))),
    };
  };
}
