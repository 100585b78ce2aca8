import { extname } from 'node:path';
import { looksLikeUrl, SCHEMELESS_URL } from './cells.ts';
import { inputError } from './errors.ts';
import type { LineSplitter } from './lines.ts';
import { headerIndex, namesTarget } from './map-columns.ts';
import { CsvReader } from './read-csv.ts';
import type { Plan, Row, TableOptions } from './types.ts';

/** Delimiters that are looked for, in the order that wins a draw. */
const DELIMITERS = [',', ';', '\t', '|'] as const;

/** Rows that are looked at. */
const MAX_SAMPLE_ROWS = 50;

/** A line that is nothing but one URL. A host holds no delimiter, so `https://a.example,Title` is none. */
const URL_LINE = /^https?:\/\/[^\s,;|/?#]+(?:[/?#]\S*)?$/i;

/** Excel's own first line, which names the delimiter. */
const SEP_LINE = /^sep=([^"\r\n])(\r\n|\r|\n)/;

/** Whether a line as a whole could be one URL. */
export function isOneUrl(line: string): boolean {
  return URL_LINE.test(line.trim());
}

interface Format {
  format: Exclude<Plan['format'], 'xlsx'>;
  /** CSV and TSV only. */
  delimiter: string | undefined;
  /** Characters of Excel's `sep=;` line, which comes before the header. */
  sepLength: number;
  /** `urls` only: the first line is the name of the one column. */
  hasHeader: boolean;
}

type FormatOptions = Pick<TableOptions, 'inputFormat' | 'delimiter' | 'added' | 'map'>;

/**
 * Format and delimiter, from the settings, the file's name, and the text it begins with.
 * @throws InputError for text that is no such file, or could be two of them
 */
export function detectFormat(settings: FormatOptions, name: string, head: string): Format {
  refuseOtherText(name, head);
  const { inputFormat } = settings;
  const isGuess = inputFormat === 'auto' || inputFormat === 'xlsx';
  const format = isGuess ? guessFormat(settings, name, head) : inputFormat;
  if (format === 'jsonl' || format === 'urls') {
    const hasHeader = isGuess && format === 'urls' && !looksLikeUrl(head);
    return { format, delimiter: undefined, sepLength: 0, hasHeader };
  }
  const sep = SEP_LINE.exec(head);
  const sepLength = sep?.[0].length ?? 0;
  const delimiter =
    settings.delimiter ??
    sep?.[1] ??
    settings.added?.header.exec(head)?.[1] ??
    (format === 'tsv'
      ? '\t'
      : guessDelimiter(name, head.slice(sepLength), settings.map.target_url));
  return { format: delimiter === '\t' ? 'tsv' : 'csv', delimiter, sepLength, hasHeader: false };
}

/** Other kinds of text that are often taken for CSV. */
function refuseOtherText(name: string, head: string): void {
  // A few of them concern their own rows.
  if (head.split('\0').length - 1 > head.length / 16) {
    throw inputError(
      `${name} is full of NUL characters, as UTF-16 without a byte order mark is`,
      'If it is UTF-16: --encoding utf-16le. Otherwise it is not a text file.',
    );
  }
  if (/^\s*\[\s*[{[\]]/.test(head)) {
    throw inputError(
      `${name} is one JSON array`,
      "Write one object a line (JSON Lines), for example with jq: jq -c '.[]'",
    );
  }
  if (/^\s*<(?:!doctype|html|\?xml)/i.test(head)) {
    throw inputError(
      `${name} is an HTML or XML page`,
      'It may be the page of a login or an error that was saved instead of the file.',
    );
  }
}

function guessFormat(settings: FormatOptions, name: string, head: string): Format['format'] {
  if (settings.delimiter !== undefined) return 'csv';
  const extension = extname(name.replace(/\.gz$/i, '')).toLowerCase();
  if (extension === '.jsonl' || extension === '.ndjson' || /^\s*\{/.test(head)) return 'jsonl';
  if (/^\.(?:tsv|tab)$/.test(extension) && !hasOtherDelimiter(head)) return 'tsv';
  if (SEP_LINE.test(head) || settings.added?.header.test(head)) return 'csv';
  const lines = head
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  // What the end of the head cuts off may look like anything.
  if (lines.length > MAX_SAMPLE_ROWS) lines.pop();
  if (isListWithHeader(lines)) return 'urls';
  if (extension === '.csv') refuseRagged(lines, name);
  return extension !== '.csv' && isUrlList(lines, name) ? 'urls' : 'csv';
}

/** Whether the first line of a text without any tab shows that it is cut elsewhere. */
function hasOtherDelimiter(head: string): boolean {
  const [first = ''] = /\S.*/.exec(head) ?? [];
  return !head.includes('\t') && hasDelimiter(first) && !looksLikeUrl(first);
}

/**
 * One name, and below it nothing but URLs, some with a delimiter in them: a table of one column whose cells nobody quoted. As a list
 * its URLs stay whole, whatever the file is called.
 */
function isListWithHeader([header = '', ...urls]: readonly string[]): boolean {
  const isName =
    !looksLikeUrl(header) &&
    !SCHEMELESS_URL.test(header) &&
    !/["{]/.test(header) &&
    !hasDelimiter(header);
  return isName && urls.some(hasDelimiter) && urls.every((line) => URL_LINE.test(line));
}

/**
 * Whether the lines are a plain list. A URL may hold any delimiter, so nothing is cut where a line could be one URL as a whole:
 * a file that could be both is refused.
 */
function isUrlList(lines: readonly string[], name: string): boolean {
  const [first = ''] = lines;
  if (!looksLikeUrl(first)) return false;
  const urls = lines.filter((line) => URL_LINE.test(line));
  if (urls.length === lines.length) {
    const delimiter = DELIMITERS.find((one) => lines.every((line) => holdsTwoUrls(line, one)));
    if (delimiter !== undefined) throw eitherWay(name, first, delimiter);
    return true;
  }
  // A first line that is one URL without a delimiter: whatever the other lines are, one column is all there is.
  if (URL_LINE.test(first) && !hasDelimiter(first)) return true;
  // A delimiter behind the host of the first line settles it; elsewhere a URL that would be cut makes it a guess.
  const isTable = /^https?:\/\/[^\s,;|/?#]+\s*[,;|\t]/i.test(first);
  const whole = urls.find(hasDelimiter);
  if (isTable || whole === undefined) return false;
  throw eitherWay(name, whole, DELIMITERS.find((one) => whole.includes(one)) ?? ',');
}

/** URLs alone, some of which hold a delimiter and others not: as a table, those would be cut, without a title or tag in sight. */
function refuseRagged(lines: readonly string[], name: string): void {
  const cut = lines.filter(hasDelimiter);
  const [first = ''] = cut;
  const areUrls = looksLikeUrl(lines[0] ?? '') && cut.every((line) => URL_LINE.test(line));
  const isRagged = lines.some((line) => URL_LINE.test(line) && !hasDelimiter(line));
  if (areUrls && isRagged && first !== '')
    throw eitherWay(name, first, DELIMITERS.find((one) => first.includes(one)) ?? ',');
}

function hasDelimiter(line: string): boolean {
  return DELIMITERS.some((delimiter) => line.includes(delimiter));
}

function holdsTwoUrls(line: string, delimiter: string): boolean {
  return line.split(delimiter).slice(1).some(looksLikeUrl);
}

function eitherWay(name: string, line: string, delimiter: string) {
  return inputError(
    `${name} could be a list of URLs or a table: ${JSON.stringify(line)} holds ${JSON.stringify(delimiter)}`,
    `If each line is one URL: --input-format urls. If it is a table: --delimiter ${JSON.stringify(delimiter)}`,
  );
}

/**
 * The delimiter that cuts the most rows into as many cells as the header has. A URL may hold any delimiter, so those count first under which the
 * header names the column of URLs, and then those that leave a URL in the most rows.
 * @throws InputError where two cut as well, and no name tells which of them cuts the URLs
 */
function guessDelimiter(name: string, head: string, wanted: string | undefined): string {
  const guesses = DELIMITERS.flatMap((delimiter) => {
    const { rows: sample, problem } = sampleRows(head, new CsvReader({ delimiter, name: '' }));
    const rows = sample.slice(headerIndex(sample, wanted));
    // A row that can't be read is one without a URL.
    const count = rows.length + Number(problem !== undefined);
    const width = rows[0]?.cells.length ?? 1;
    if (width < 2) return [];
    // In steps of a twentieth, so that a few broken rows decide nothing.
    const share = (is: (row: Row) => boolean) => Math.round((rows.filter(is).length / count) * 20);
    const urls = share(({ cells }) => cells.some(isOneUrl));
    const alike = share(({ cells }) => cells.length === width);
    return { delimiter, isNamed: namesTarget(rows, wanted), urls, alike, width };
  });
  const [best, next] = guesses.toSorted(
    (a, b) =>
      Number(b.isNamed) - Number(a.isNamed) ||
      b.urls - a.urls ||
      b.alike - a.alike ||
      b.width - a.width,
  );
  if (best === undefined) return DELIMITERS[0];
  const { delimiter, isNamed, urls, alike } = best;
  if (
    !isNamed &&
    next?.isNamed === false &&
    urls > 0 &&
    urls === next.urls &&
    alike === next.alike
  ) {
    const both = [delimiter, next.delimiter].map((one) => JSON.stringify(one));
    throw inputError(
      `${name} could be cut at ${both.join(' or at ')}`,
      `Name the right one: --delimiter ${both.join(' or --delimiter ')}`,
    );
  }
  return delimiter;
}

/**
 * The first rows of a text, and why there are no more of them, where one can't be read. The text is read line by line, so that a
 * broken row takes nothing from those before it.
 * @param isWhole - the text is all there is, so that its last line is complete
 */
export function sampleRows(
  text: string,
  reader: LineSplitter<Row>,
  isWhole = true,
): { rows: Row[]; problem?: { error: unknown } } {
  const rows: Row[] = [];
  try {
    for (const [line] of text.matchAll(/[^\r\n]*(?:\r\n|\r|\n|$)/g)) {
      rows.push(...reader.push(line));
      if (rows.length >= MAX_SAMPLE_ROWS) return { rows: rows.slice(0, MAX_SAMPLE_ROWS) };
    }
    if (isWhole) rows.push(...reader.end());
    return { rows };
  } catch (error) {
    return { rows, problem: { error } };
  }
}
