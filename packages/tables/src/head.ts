import { type DecodeOptions, decodeFile } from './decode.ts';
import { detectFormat, sampleRows } from './detect-format.ts';
import { inputError, refuseConflict } from './errors.ts';
import { headerIndex } from './map-columns.ts';
import type { Input } from './open-input.ts';
import { createReader } from './read-rows.ts';
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
export interface Head
  extends Pick<Plan, 'format' | 'delimiter' | 'encoding' | 'hasHeader' | 'sheet' | 'notes'> {
  dialect: Dialect;
  /** What comes before the header and is no row: skipped lines, a title, and Excel's `sep=` line. */
  preamble: string;
  /** The text after the preamble, the number of its first line, and whether that is all of the input. */
  text: string;
  firstLine: number;
  isWhole: boolean;
  /** Path of the unpacked rows of an .xlsx sheet. */
  sheetRows: string | undefined;
}

export type Source = Pick<Input, 'path' | 'name' | 'packing' | 'scratch'>;

/** @throws InputError for an empty input, or one that is not of the format that was asked for */
export async function readHead(input: Source, settings: TableOptions): Promise<Head> {
  const { inputFormat, sheet } = settings;
  if (input.packing !== 'xlsx') {
    if (inputFormat === 'xlsx' || sheet !== undefined) {
      throw inputError(`${input.name} is not an Excel workbook (.xlsx)`);
    }
    return belowTitle(await readTextHead(input, settings), settings);
  }
  if (inputFormat !== 'auto' && inputFormat !== 'xlsx') {
    throw inputError(
      `${input.name} is an Excel workbook (.xlsx), not ${inputFormat}`,
      'Leave --input-format out.',
    );
  }
  return belowTitle(await readSheetHead(input, settings), settings);
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
  const end = endOfLine(text, format === 'xlsx' ? index : headerLine - firstLine);
  return {
    ...head,
    preamble: preamble + text.slice(0, end),
    text: text.slice(end),
    firstLine: headerLine,
    notes: [...head.notes, `The header is on line ${headerLine}. What stands above it is no row.`],
  };
}

async function readSheetHead(
  { path, name, scratch = '' }: Source,
  settings: TableOptions,
): Promise<Head> {
  // No other input needs the libraries of workbooks.
  const { unpackSheet } = await import('./read-sheet.ts');
  const { path: sheetRows, ...chosen } = await unpackSheet({ path, name, scratch }, settings);
  const { text, encoding, isWhole } = await readText(sheetRows, { name });
  if (text === '') throw inputError(`${name}: the sheet is empty`);
  return {
    ...{ format: 'xlsx', delimiter: undefined, encoding, hasHeader: false, ...chosen },
    // As Excel itself writes a CSV file in UTF-8.
    dialect: { delimiter: ',', lineEnd: '\r\n', bom: true, sep: '' },
    ...{ preamble: '', firstLine: 1, text, isWhole, sheetRows },
  };
}

async function readTextHead(
  { path, name, packing }: Source,
  settings: TableOptions,
): Promise<Head> {
  const { encoding: wanted, skipLines = 0 } = settings;
  const head = await readText(path, { name, encoding: wanted, packing });
  const { encoding, hasBom, isWhole } = head;
  if (head.text.trim() === '') throw inputError(`${name} is empty`);
  const skipped = endOfLine(head.text, skipLines);
  const rest = head.text.slice(skipped);
  if (rest.trim() === '') {
    throw inputError(
      isWhole
        ? `${name} has nothing below its first ${skipLines} lines`
        : `${name}: its first ${skipLines} lines hold more than ${HEAD_LENGTH / 1024} KB, which is too much to skip`,
    );
  }
  const { sepLength, ...format } = detectFormat(settings, name, rest);
  const text = rest.slice(sepLength);
  const firstLine = 1 + skipLines + (sepLength > 0 ? 1 : 0);
  text.split(LINE_END).forEach((line, index) => {
    refuseConflict(name, firstLine + index, line);
  });
  const lineEnd = LINE_END.exec(rest)?.[0];
  return {
    ...format,
    encoding,
    dialect: {
      delimiter: format.delimiter ?? ',',
      lineEnd: lineEnd === '\r\n' || lineEnd === '\r' ? lineEnd : '\n',
      bom: hasBom || encoding !== 'utf-8',
      sep: rest.slice(0, sepLength),
    },
    preamble: head.text.slice(0, skipped + sepLength),
    ...{ firstLine, text, isWhole, sheetRows: undefined, notes: [] },
  };
}

/** The names of the sheets of a workbook, those that are hidden too. */
export async function sheetNames(path: string): Promise<string[]> {
  const { listSheets } = await import('./read-sheet.ts');
  return await listSheets(path);
}

async function readText(
  path: string,
  options: Pick<DecodeOptions, 'name' | 'encoding' | 'packing'>,
) {
  const found = { text: '', encoding: '', hasBom: false, isWhole: true };
  const onEncoding: DecodeOptions['onEncoding'] = (encoding, hasBom) => {
    Object.assign(found, { encoding, hasBom });
  };
  for await (const piece of decodeFile(path, { ...options, onEncoding })) {
    found.text += piece;
    const { length } = found.text;
    const hasRow = length >= HEAD_LENGTH && /[\r\n]/.test(found.text);
    if (hasRow || length >= MAX_HEAD_LENGTH) return { ...found, isWhole: false };
  }
  return found;
}

const LINE_END = /\r\n|\r|\n/;

/** Where the line with that number ends, its line break included; the end of the text where there are not so many. */
function endOfLine(text: string, line: number): number {
  if (line === 0) return 0;
  const end = [...text.matchAll(new RegExp(LINE_END, 'g'))][line - 1];
  return end === undefined ? text.length : end.index + end[0].length;
}
