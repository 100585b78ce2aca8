import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  INPUT_FORMATS,
  type InputFormat,
  LINK_FIELDS,
  type LinkField,
  ON_UNKNOWN,
  type OnUnknown,
  OUTPUT_FORMATS,
  type OutputFormat,
} from '../../import/types.ts';
import {
  collect,
  parseCount,
  parseCountOr,
  parseDuration,
  REDIRECT_TYPE_CHOICES,
} from '../declare.ts';

/** Largest batch the endpoint takes, whatever the plan. */
const MAX_BATCH_LINKS = 10_000;

/** Each batch in flight is held in memory. */
const MAX_CONCURRENCY = 64;

type FieldMap = Partial<Record<LinkField, string>>;

/** Options of `shortlink import` as commander hands them over. */
export interface ImportOptions {
  map?: FieldMap | undefined;
  inputFormat: InputFormat;
  delimiter?: string | undefined;
  tagSeparator?: string | undefined;
  encoding?: string | undefined;
  sheet?: string | undefined;
  skipLines?: number | undefined;
  output?: string | undefined;
  outputFormat?: OutputFormat | undefined;
  inPlace?: boolean | undefined;
  known?: string | undefined;
  rejects?: string | undefined;
  tag?: string[] | undefined;
  addTag?: string[] | undefined;
  domain?: string | undefined;
  redirectType?: string | undefined;
  batchSize: number | 'auto';
  concurrency: number;
  rpm?: number | undefined;
  maxWait: number;
  limit?: number | undefined;
  dryRun?: boolean | undefined;
  maxRejects: number | 'all';
  onUnknown: OnUnknown;
  idempotency?: boolean | undefined;
  journal?: string | undefined;
  stateDir?: string | undefined;
  restart?: boolean | undefined;
}

export function addImportOptions(command: Command): Command {
  return command
    .optionsGroup('Input:')
    .option(
      '--map <field=column>',
      `fill a field (${LINK_FIELDS.join(', ')}) from a column; title= leaves a field out; may be given several times`,
      parseMap,
    )
    .addOption(
      new Option('--input-format <format>', 'format of the input')
        .choices(INPUT_FORMATS)
        .default('auto'),
    )
    .option(
      '--delimiter <character>',
      'between cells, such as ";" or tab (default: found by looking)',
      parseDelimiter,
    )
    .option(
      '--tag-separator <text>',
      'between tags in a cell (default: any of , ; |)',
      parseTagSeparator,
    )
    .option(
      '--encoding <name>',
      'such as windows-1252 (default: UTF-8, or UTF-16 by its BOM)',
      parseEncoding,
    )
    .option('--sheet <name>', 'sheet of an .xlsx workbook (default: the first one)')
    .option(
      '--skip-lines <n>',
      'lines above the header that are left out',
      parseCount(0, 1_000_000),
    )
    .optionsGroup('Links:')
    .option('--tag <tag>', 'tag of rows that have none; may be given several times', collect)
    .option(
      '--add-tag <tag>',
      'tag of every row, besides its own; may be given several times',
      collect,
    )
    .option('--domain <id>', 'custom domain of rows that name none')
    .addOption(
      new Option('--redirect-type <status>', 'redirect type of rows that name none')
        .choices(REDIRECT_TYPE_CHOICES)
        .default(undefined, '302'),
    )
    .optionsGroup('Output:')
    .option(
      '-o, --output <file>',
      'results; - is stdout (default: <input>.results.csv, stdout if the input is -)',
    )
    .option(
      '--in-place',
      'write code, short_url, status and error into the input itself, as columns',
    )
    .addOption(
      new Option('--output-format <format>', 'format of the results')
        .choices(OUTPUT_FORMATS)
        .default(undefined, 'by the name of the output, else csv'),
    )
    .option('--rejects <file>', "rows that can't be sent (default: <input>.rejects.csv)")
    .option('--known <file>', 'results of an earlier import: its links are not created again')
    .optionsGroup('Sending:')
    .option(
      '--batch-size <n>',
      'links in a request, or auto',
      parseCountOr('auto', 1, MAX_BATCH_LINKS),
      'auto',
    )
    .option('--concurrency <n>', 'batches in flight at once', parseCount(1, MAX_CONCURRENCY), 4)
    .option(
      '--rpm <n>',
      'requests per minute at most (default: the limit that the service reports)',
      parseCount(1, 1_000_000),
    )
    .addOption(
      new Option(
        '--max-wait <duration>',
        'longest wait for a rate limit; 26h waits for a new day of a daily quota',
      )
        .argParser(parseDuration)
        .default(90_000, '90s'),
    )
    .option(
      '--limit <n>',
      'links to create at most in this run',
      parseCount(1, Number.MAX_SAFE_INTEGER),
    )
    .option(
      '--idempotency',
      'send an Idempotency-Key, for servers that support it: a batch without a response can then be sent again safely',
    )
    .addOption(
      new Option(
        '--on-unknown <action>',
        'what to do with links that may have been created in a request without a response',
      )
        .choices(ON_UNKNOWN)
        .default('stop'),
    )
    .optionsGroup('Safety:')
    .option(
      '--dry-run',
      'check the file, compare it with what exists, and forecast; create and write nothing',
    )
    .option(
      '--max-rejects <n>',
      'send nothing if more rows than this are invalid; all sends in any case',
      parseCountOr('all', 0, Number.MAX_SAFE_INTEGER),
      0,
    )
    .option(
      '--journal <file>',
      'record of the links that exist (default: <input>.shortlink-journal)',
    )
    .option('--state-dir <folder>', 'folder for journal, results and rejects')
    .option('--restart', 'create every row again; the journal is kept as <journal>.old');
}

function parseMap(value: string, previous: FieldMap | undefined): FieldMap {
  const at = value.indexOf('=');
  const name = value.slice(0, Math.max(at, 0)).trim();
  const column = value.slice(at + 1).trim();
  const field = LINK_FIELDS.find((known) => known === name);
  if (at < 0) throw new InvalidArgumentError('A mapping looks like target_url="Long URL".');
  if (field === undefined) {
    throw new InvalidArgumentError(`There is no field ${name}. Fields: ${LINK_FIELDS.join(', ')}.`);
  }
  if (column === '' && field === 'target_url') {
    throw new InvalidArgumentError("The target URL can't be left out.");
  }
  if (previous?.[field] !== undefined) throw new InvalidArgumentError(`${field} is mapped twice.`);
  return { ...previous, [field]: column };
}

function parseDelimiter(value: string): string {
  if (value === 'tab' || value === '\\t') return '\t';
  if ([...value].length !== 1 || /["\r\n]/.test(value)) {
    throw new InvalidArgumentError('It must be one character, or the word tab.');
  }
  return value;
}

function parseTagSeparator(value: string): string {
  if (value === '') throw new InvalidArgumentError('It must not be empty.');
  return value;
}

function parseEncoding(value: string): string {
  try {
    return new TextDecoder(value).encoding;
  } catch {
    throw new InvalidArgumentError(
      'It must be a name of the Encoding Standard, such as utf-8, utf-16le, windows-1252 or shift_jis.',
    );
  }
}
