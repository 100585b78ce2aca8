import { extname } from 'node:path';
import { inputError } from '../errors.ts';
import type { ImportSettings, Plan, Row } from '../types.ts';
import { CsvReader } from './read-csv.ts';

/** Delimiters that are looked for, in the order that wins a draw. */
const DELIMITERS = [',', ';', '\t', '|'] as const;

/** Rows that are looked at. */
const MAX_SAMPLE_ROWS = 50;

const URL_LINE = /^https?:\/\/\S+$/i;

/** Excel's own first line, which names the delimiter. */
const SEP_LINE = /^sep=(.)(\r\n|\r|\n)/;

/** Whether a cell begins as an absolute URL does: no header is one. */
export function looksLikeUrl(cell: string | undefined): boolean {
  return cell !== undefined && /^\s*https?:\/\//i.test(cell);
}

export interface Format {
  format: Plan['format'];
  /** CSV and TSV only. */
  delimiter: string | undefined;
  /** The first line is Excel's `sep=;`. */
  hasSepLine: boolean;
}

/** Format and delimiter, from the settings, the file's name, and the text it begins with. */
export function detectFormat(
  settings: Pick<ImportSettings, 'inputFormat' | 'delimiter'>,
  name: string,
  head: string,
): Format {
  refuseOtherFiles(name, head);
  const format =
    settings.inputFormat === 'auto' ? guessFormat(settings, name, head) : settings.inputFormat;
  if (format === 'jsonl' || format === 'urls') {
    return { format, delimiter: undefined, hasSepLine: false };
  }
  const sep = SEP_LINE.exec(head);
  const delimiter =
    settings.delimiter ?? sep?.[1] ?? (format === 'tsv' ? '\t' : guessDelimiter(head));
  if (delimiter.length !== 1 || /["\r\n]/.test(delimiter)) {
    throw inputError(
      `--delimiter ${JSON.stringify(delimiter)} is not one character, or is a quote`,
    );
  }
  return { format: delimiter === '\t' ? 'tsv' : 'csv', delimiter, hasSepLine: sep !== null };
}

/** Other kinds of file that are often taken for CSV. */
function refuseOtherFiles(name: string, head: string): void {
  if (head.startsWith('PK\u0003\u0004')) {
    throw inputError(
      `${name} is a spreadsheet or a zip archive, not text`,
      'In the spreadsheet program, save it as CSV (UTF-8).',
    );
  }
  if (head.includes('\0')) {
    throw inputError(
      `${name} holds NUL characters, as UTF-16 without a byte order mark does`,
      'If it is UTF-16: --encoding utf-16le. Else it is not a text file.',
    );
  }
  if (/^\s*\[\s*[{[\]]/.test(head)) {
    throw inputError(
      `${name} is one JSON array`,
      "Write one object a line (JSON Lines), for example with jq: jq -c '.[]'",
    );
  }
}

function guessFormat(
  settings: Pick<ImportSettings, 'delimiter'>,
  name: string,
  head: string,
): Plan['format'] {
  if (settings.delimiter !== undefined) return 'csv';
  const extension = extname(name).toLowerCase();
  if (extension === '.jsonl' || extension === '.ndjson' || /^\s*\{/.test(head)) return 'jsonl';
  if (extension === '.csv') return 'csv';
  if (extension === '.tsv' || extension === '.tab') return 'tsv';
  return isUrlList(head) ? 'urls' : 'csv';
}

/** Nothing but URLs, one a line, and no delimiter cuts every line into the same number of cells. */
function isUrlList(head: string): boolean {
  const lines = head.split(/[\r\n]+/).slice(0, MAX_SAMPLE_ROWS);
  const urls = lines.filter((line) => line.trim() !== '');
  if (urls.length === 0 || !urls.every((line) => URL_LINE.test(line.trim()))) return false;
  return !DELIMITERS.some((delimiter) => {
    const width = urls[0]?.split(delimiter).length ?? 1;
    return width > 1 && urls.every((line) => line.split(delimiter).length === width);
  });
}

/** The delimiter that cuts the most rows into as many cells as the first row has. */
function guessDelimiter(head: string): string {
  let best: string = DELIMITERS[0];
  let bestScore = 0;
  for (const delimiter of DELIMITERS) {
    const rows = sampleRows(head, delimiter);
    const width = rows[0]?.cells.length ?? 1;
    if (width < 2) continue;
    const alike = rows.filter((row) => row.cells.length === width).length / rows.length;
    // Agreement of the rows counts first, then the number of columns it explains.
    const score = Math.round(alike * 20) * 1000 + width;
    if (score > bestScore) {
      best = delimiter;
      bestScore = score;
    }
  }
  return best;
}

/** The rows that the head holds whole. A delimiter that breaks the quotes gives none. */
export function sampleRows(head: string, delimiter: string): Row[] {
  const reader = new CsvReader({ delimiter, name: '' });
  try {
    const rows = reader.push(head.endsWith('\n') ? head : `${head}\n`);
    return rows.slice(0, MAX_SAMPLE_ROWS);
  } catch {
    return [];
  }
}
