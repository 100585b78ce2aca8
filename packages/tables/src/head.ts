import { decodeFile } from './decode.ts';
import { detectFormat, sampleRows } from './detect-format.ts';
import { inputError, refuseConflict } from './errors.ts';
import type { Input } from './open-input.ts';
import { createReader } from './read-rows.ts';
import { headerIndex } from './title-rows.ts';
import type { Plan, TableOptions } from './types.ts';

/** Characters of the beginning that are looked at; more only where not even the first row ends in them. */
const HEAD_LENGTH = 256 * 1024;
const MAX_HEAD_LENGTH = 4 * 1024 * 1024;

/** How a table is written. Results look like the input; those of sheets and lists are CSV with commas. */
export interface Dialect {
  delimiter: string;
  lineEnd: '\n' | '\r\n' | '\r';
  /** Whether a byte order mark begins it: Excel takes a CSV file without one for its own old encoding. */
  bom: boolean;
  /** The line `sep=;` of Excel, with its end; empty where there is none. */
  sep: string;
}

/** The beginning of an input, and what it says about all of it. */
export interface Head extends Pick<Plan, 'format' | 'delimiter' | 'encoding'> {
  /** `urls` only: the first line names the one column. */
  hasHeader: boolean;
  dialect: Dialect;
  /** What comes before the header and is no row: skipped lines, a title, and Excel's `sep=` line. */
  preamble: string;
  /** Number of the line after the preamble. */
  firstLine: number;
  /** The text after the preamble. */
  text: string;
  /** Whether that is all of it. */
  isWhole: boolean;
  /** Path of the unpacked rows of an .xlsx sheet. */
  sheetRows: string | undefined;
  sheet?: Plan['sheet'];
  /** What the user should know of the choice of the sheet, and of a header that stands below a title. */
  notes?: string[];
}

export type Source = Pick<Input, 'path' | 'name' | 'packing' | 'scratch'>;

/** @throws InputError for an empty input, or one that is not of the format that was asked for */
export async function readHead(input: Source, settings: TableOptions): Promise<Head> {
  const { inputFormat, sheet, skipLines = 0 } = settings;
  if (input.packing === 'xlsx') {
    if (inputFormat !== 'auto' && inputFormat !== 'xlsx') {
      throw inputError(
        `${input.name} is an Excel workbook (.xlsx), not ${inputFormat}`,
        'Leave --input-format out.',
      );
    }
    return belowTitle(await readSheetHead(input, settings), settings);
  }
  if (inputFormat === 'xlsx' || sheet !== undefined) {
    throw inputError(`${input.name} is not an Excel workbook (.xlsx)`);
  }
  const head = await readTextHead(input, settings, skipLines);
  head.text.split(/\r\n|\r|\n/).forEach((line, index) => {
    refuseConflict(input.name, head.firstLine + index, line);
  });
  return belowTitle(head, settings);
}

/** The same from the header on, where that stands below a title. */
function belowTitle(head: Head, { map }: TableOptions): Head {
  const { format, text, preamble, firstLine } = head;
  if (format === 'urls' || format === 'jsonl') return head;
  const { rows } = sampleRows(text, createReader('', { ...head, columns: [] }, firstLine));
  const index = headerIndex(rows, map.target_url);
  const headerLine = rows[index]?.line;
  if (index === 0 || headerLine === undefined) return head;
  // The rows of a sheet are unpacked to one line each, without the empty ones.
  const lines = format === 'xlsx' ? index : headerLine - firstLine;
  const end = endOfLine(text, lines) ?? 0;
  return {
    ...head,
    preamble: preamble + text.slice(0, end),
    text: text.slice(end),
    firstLine: format === 'xlsx' ? firstLine : headerLine,
    notes: [
      ...(head.notes ?? []),
      `The header is on line ${headerLine}. What stands above it is no row.`,
    ],
  };
}

async function readSheetHead(
  { path, name, scratch = '' }: Source,
  settings: TableOptions,
): Promise<Head> {
  // No other input needs the libraries of workbooks.
  const { unpackSheet } = await import('./read-sheet.ts');
  const unpacked = await unpackSheet({ path, name, scratch }, settings);
  const { text, encoding, isWhole } = await readText(unpacked.path, { name });
  if (text === '') throw inputError(`${name}: the sheet is empty`);
  return {
    format: 'xlsx',
    delimiter: undefined,
    encoding,
    hasHeader: false,
    // As Excel itself writes a CSV file in UTF-8.
    dialect: { delimiter: ',', lineEnd: '\r\n', bom: true, sep: '' },
    preamble: '',
    firstLine: 1,
    text,
    isWhole,
    sheetRows: unpacked.path,
    sheet: unpacked.sheet,
    notes: unpacked.notes,
  };
}

async function readTextHead(
  { path, name, packing }: Source,
  settings: TableOptions,
  skipLines: number,
): Promise<Head> {
  const head = await readText(path, {
    name,
    encoding: settings.encoding,
    packing: packing === 'gzip' ? 'gzip' : undefined,
  });
  if (head.text.trim() === '') throw inputError(`${name} is empty`);
  const skipped = endOfLine(head.text, skipLines);
  const rest = skipped === undefined ? '' : head.text.slice(skipped);
  if (rest.trim() === '' && !head.isWhole) {
    throw inputError(
      `${name}: its first ${skipLines} lines hold more than ${HEAD_LENGTH / 1024} KB, which is too much to skip`,
    );
  }
  if (rest.trim() === '') {
    throw inputError(`${name} has nothing below its first ${skipLines} lines`);
  }
  const { format, delimiter, sepLength, hasHeader } = detectFormat(settings, name, rest);
  const preambleLength = head.text.length - rest.length + sepLength;
  return {
    format,
    delimiter,
    encoding: head.encoding,
    hasHeader,
    dialect: {
      delimiter: delimiter ?? ',',
      lineEnd: firstLineEnd(rest),
      bom: head.hasBom || head.encoding !== 'utf-8',
      sep: rest.slice(0, sepLength),
    },
    preamble: head.text.slice(0, preambleLength),
    firstLine: 1 + skipLines + (sepLength > 0 ? 1 : 0),
    text: rest.slice(sepLength),
    isWhole: head.isWhole,
    sheetRows: undefined,
  };
}

/** The names of the sheets of a workbook, those that are hidden too. */
export async function sheetNames(path: string): Promise<string[]> {
  const { listSheets } = await import('./read-sheet.ts');
  return await listSheets(path);
}

interface TextOptions {
  name: string;
  encoding?: string | undefined;
  packing?: 'gzip' | undefined;
}

async function readText(path: string, { name, encoding: label, packing }: TextOptions) {
  let text = '';
  let encoding = '';
  let hasBom = false;
  const pieces = decodeFile(path, {
    name,
    encoding: label,
    packing,
    onEncoding: (chosen, bom) => {
      encoding = chosen;
      hasBom = bom;
    },
  });
  for await (const piece of pieces) {
    text += piece;
    const hasRow = text.length >= HEAD_LENGTH && /[\r\n]/.test(text);
    if (hasRow || text.length >= MAX_HEAD_LENGTH) return { text, encoding, hasBom, isWhole: false };
  }
  return { text, encoding, hasBom, isWhole: true };
}

/** Where the line with that number ends, its line break included; undefined where there are not so many. */
function endOfLine(text: string, line: number): number | undefined {
  if (line === 0) return 0;
  let count = 0;
  for (const { index, 0: lineBreak } of text.matchAll(/\r\n|\r|\n/g)) {
    count += 1;
    if (count === line) return index + lineBreak.length;
  }
  return undefined;
}

function firstLineEnd(text: string): Dialect['lineEnd'] {
  const found = /\r\n|\r|\n/.exec(text)?.[0];
  return found === '\r\n' || found === '\r' ? found : '\n';
}
